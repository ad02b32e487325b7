"""Calibration: what was said with which confidence and how often it was right, as table and SVG."""

from collections.abc import Mapping, Sequence
from html import escape

Held = Sequence[tuple[float, bool]]
_SIDE, _EDGE, _LINE, _WIDTH = 360, 44, 18, 640
# Told apart by people who see colours differently, on white and on black.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9")


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


def picture(generators: Mapping[str, Held]) -> str:
    """A curve for each generator over the line where it should lie, and how many each bin holds."""
    told = list(zip(generators.items(), _COLOURS * len(generators), strict=False))
    height = 2 * _EDGE + _SIDE + _LINE * (len(told) + 2)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12" fill="#777">',
        *_frame(), *(_curve(name, held, colour) for (name, held), colour in told),
        *_counts(told), "</svg>", "",
    ])  # fmt: skip


def _across(value: float) -> float:
    return _EDGE + value * _SIDE


def _up(value: float) -> float:
    return _EDGE + _SIDE - value * _SIDE


def _frame() -> list[str]:
    """The field, its ticks, and the line of what should be."""
    ticks = [
        f'<text x="{_across(tick):.0f}" y="{_up(0) + 16:.0f}" text-anchor="middle">{tick}</text>'
        f'<text x="{_EDGE - 6}" y="{_up(tick) + 4:.0f}" text-anchor="end">{tick}</text>'
        for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    ]
    return [
        f'<rect x="{_EDGE}" y="{_EDGE}" width="{_SIDE}" height="{_SIDE}" fill="none" '
        'stroke="#999"/>',
        f'<line x1="{_across(0)}" y1="{_up(0)}" x2="{_across(1)}" y2="{_up(1)}" stroke="#999" '
        'stroke-dasharray="4 4"/>', *ticks,
        f'<text x="{_across(0.5)}" y="{_up(0) + 34:.0f}" text-anchor="middle">'
        'confidence said</text>',
        f'<text x="{_EDGE}" y="{_EDGE - 12}">part that was right (node and category)</text>',
    ]  # fmt: skip


def _curve(name: str, held: Held, colour: str) -> str:
    """One generator: a point for each bin, the larger the more it holds."""
    found = bins(held)
    points = " ".join(f"{_across(said):.1f},{_up(right):.1f}" for _, _, said, right in found)
    dots = [
        f'<circle cx="{_across(said):.1f}" cy="{_up(right):.1f}" '
        f'r="{2 + 7 * (num / max(len(held), 1)) ** 0.5:.1f}" fill="{colour}" fill-opacity="0.7">'
        f"<title>{escape(name)}: {num} incidents, said {said:.2f}, right {right:.2f}</title>"
        "</circle>"
        for _, num, said, right in found
    ]
    line = f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
    return "\n".join([line, *dots])


def _counts(told: Sequence[tuple[tuple[str, Held], str]]) -> list[str]:
    """Below the field: each generator's error, and the number of incidents in each bin."""
    top = _EDGE + _SIDE + _EDGE + _LINE
    head = "".join(
        f'<text x="{210 + 42 * place}" y="{top}" text-anchor="end">{place / 10:.1f}-</text>'
        for place in range(10)
    )
    lines = [f'<text x="{_EDGE}" y="{top}">incidents by confidence</text>{head}']
    for turn, ((name, held), colour) in enumerate(told, 1):
        y = top + _LINE * turn
        by_bin = {round(low * 10): num for low, num, _, _ in bins(held)}
        cells = "".join(
            f'<text x="{210 + 42 * place}" y="{y}" text-anchor="end">{by_bin.get(place, "")}</text>'
            for place in range(10)
        )
        lines.append(
            f'<circle cx="{_EDGE - 10}" cy="{y - 4}" r="5" fill="{colour}"/>'
            f'<text x="{_EDGE}" y="{y}">{escape(name)}, error {expected_error(held):.3f}</text>'
            + cells
        )
    return lines
