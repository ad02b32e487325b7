"""Plot style: the colours, marks and words that all plots share.

The colours are Okabe and Ito's, light where there are many of a kind; a mark goes with each.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from triage.errors import UsageError
from triage.render.words.clean import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = [
    "INK",
    "LINE",
    "SOFT",
    "STYLES",
    "TEXT",
    "PlotStyle",
    "axes",
    "frameless",
    "label",
    "legend_below",
    "legend_mark",
    "say_nothing",
    "style_of",
    "title",
]

INK: Final = "#1f2328"
SOFT: Final = "#57606a"
LINE: Final = "#d0d7de"
TEXT: Final[dict[str, Any]] = {"fontsize": 9, "color": INK, "parse_math": False}
"""How words beside a picture look; a dollar sign in them begins no formula."""


class PlotStyle(NamedTuple):
    """How one state looks: fill, ink of its mark, mark (matplotlib's name), its word."""

    fill: str
    ink: str
    mark: str
    word: str


STYLES: Final = {
    "culprit": PlotStyle("#d55e00", "#ffffff", "X", "culprit"),
    "possible": PlotStyle("#f0b429", "#1f2328", "s", "possible"),
    "no_dump": PlotStyle("#3d4450", "#ffffff", "_", "no dump"),
    "waiting": PlotStyle("#a9d2ef", "#1f2328", "o", "waiting"),
    "idle": PlotStyle("#dfe4e9", "#57606a", "o", "idle"),
    "unknown": PlotStyle("#f6f7f8", "#57606a", "o", "unknown"),
    "affected": PlotStyle("#0072b2", "#ffffff", "v", "affected"),
}


def style_of(state: str) -> PlotStyle:
    """The style of a state or a role; that of ``unknown`` for any other word."""
    return STYLES.get(state, STYLES["unknown"])


def axes(ax: "Axes | None", width: float, height: float) -> "Axes":
    """``ax``, or the axes of a new figure of ``width`` times ``height`` inches.

    Raises :class:`UsageError` where matplotlib is not installed.
    """
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise UsageError(
            "pictures need matplotlib, which is not installed: pip install 'nccl-triage[notebook]'"
        ) from error
    if ax is not None:
        return ax
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def label(text: str, width: int = 40) -> str:
    """Foreign text that may stand in a picture: one line, bounded."""
    return one_line(text, width)


def title(ax: "Axes", text: str, pad: float | None = None) -> None:
    """The title of a picture, ``pad`` points above it."""
    ax.set_title(text, loc="left", fontsize=11, color=INK, pad=pad)


def frameless(ax: "Axes") -> None:
    """No frame around the picture; names of ticks are words and no formulas."""
    for side in ax.spines.values():
        side.set_visible(False)
    for tick in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        tick.set_parse_math(False)


def legend_mark(mark: str, size: float, colour: str, **edge: Any) -> "Line2D":  # noqa: ANN401
    """A mark of a legend; ``edge`` is what matplotlib's ``Line2D`` takes beside it."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="none", marker=mark, markersize=size, color=colour, **edge)


def legend_below(
    ax: "Axes",
    marks: Sequence[Any],
    words: Sequence[str],
    points: float,
    **layout: Any,  # noqa: ANN401
) -> None:
    """A legend in a row, ``points`` below the picture."""
    from matplotlib.transforms import offset_copy

    layout |= {
        "bbox_to_anchor": (0, 0),
        "bbox_transform": offset_copy(
            ax.transAxes, ax.get_figure(root=True), y=-points, units="points"
        ),
    }
    ax.legend(marks, words, loc="upper left", frameon=False, borderaxespad=0, **layout)


def say_nothing(ax: "Axes", sentence: str) -> "Axes":
    """An empty picture that says why it is empty."""
    ax.set_axis_off()
    words: dict[str, Any] = {"ha": "center", "va": "center", "color": SOFT, "wrap": True}
    ax.text(0.5, 0.5, sentence, transform=ax.transAxes, parse_math=False, **words)
    return ax
