"""Calibration: what was said with which confidence and how often it was right, as table and SVG."""

from collections.abc import Sequence

__all__ = ["bins", "expected_error", "picture"]

Held = Sequence[tuple[float, bool]]
SIDE, EDGE = 360, 40


def bins(held: Held) -> list[tuple[float, int, float, float]]:
    """Ten bins of confidence that hold anything: lower end, number, mean said, part right."""
    found = []
    for place in range(10):
        those = [pair for pair in held if min(int(pair[0] * 10), 9) == place]
        if those:
            said = sum(confidence for confidence, _ in those) / len(those)
            right = sum(good for _, good in those) / len(those)
            found.append((place / 10, len(those), said, right))
    return found


def expected_error(held: Held) -> float:
    """Expected calibration error: the gap of each bin, weighted by what it holds."""
    return sum(n * abs(said - right) for _, n, said, right in bins(held)) / max(len(held), 1)


def picture(held: Held) -> str:
    """The reliability diagram: bars of what was right, over the line of what should be."""
    size = SIDE + 2 * EDGE
    bars = []
    for low, count, said, right in bins(held):
        x, height = EDGE + low * SIDE + 3, right * SIDE
        bars.append(
            f'<rect x="{x:.1f}" y="{EDGE + SIDE - height:.1f}" width="{SIDE / 10 - 6:.1f}" '
            f'height="{height:.1f}" fill="#4a7fb5"><title>{count} incidents, said {said:.2f}, '
            f"right {right:.2f}</title></rect>"
        )
    ticks = [
        f'<text x="{EDGE + tick * SIDE:.0f}" y="{EDGE + SIDE + 16}" text-anchor="middle">{tick}'
        f'</text><text x="{EDGE - 6}" y="{EDGE + SIDE - tick * SIDE + 4:.0f}" '
        f'text-anchor="end">{tick}</text>'
        for tick in (0.0, 0.5, 1.0)
    ]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" '
        f'viewBox="0 0 {size} {size}" font-family="sans-serif" font-size="12" fill="#666">',
        f'<rect x="{EDGE}" y="{EDGE}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#999"/>',
        *bars,
        f'<line x1="{EDGE}" y1="{EDGE + SIDE}" x2="{EDGE + SIDE}" y2="{EDGE}" stroke="#c33" '
        'stroke-dasharray="4 4"/>', *ticks,
        f'<text x="{size / 2}" y="{size - 6}" text-anchor="middle">confidence said</text>',
        f'<text x="{size / 2}" y="{EDGE - 14}" text-anchor="middle">part that was right; expected '
        f"calibration error {expected_error(held):.3f}, {len(held)} incidents</text>",
        "</svg>", "",
    ])  # fmt: skip
