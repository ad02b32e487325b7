"""Plot style: the colours, marks and words that all plots share.

The colours are Okabe and Ito's, light where there are many of a kind; a mark goes with each.
"""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from triage.errors import UsageError
from triage.render.words.clean import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["INK", "LINE", "SOFT", "STYLES", "Style", "axes", "label", "say_nothing", "style_of"]

INK: Final = "#1f2328"
SOFT: Final = "#57606a"
LINE: Final = "#d0d7de"


class Style(NamedTuple):
    """How one state looks: fill, ink of its mark, mark (matplotlib's name), its word."""

    fill: str
    ink: str
    mark: str
    word: str


STYLES: Final = {
    "culprit": Style("#d55e00", "#ffffff", "X", "culprit"),
    "possible": Style("#f0b429", "#1f2328", "s", "possible"),
    "no_dump": Style("#3d4450", "#ffffff", "_", "no dump"),
    "waiting": Style("#a9d2ef", "#1f2328", "o", "waiting"),
    "idle": Style("#dfe4e9", "#57606a", "o", "idle"),
    "unknown": Style("#f6f7f8", "#57606a", "o", "unknown"),
    "affected": Style("#0072b2", "#ffffff", "v", "affected"),
}


def style_of(state: str) -> Style:
    """The style of a state or a role; that of ``unknown`` for any other word."""
    return STYLES.get(state, STYLES["unknown"])


def axes(ax: "Axes | None", width: float, height: float) -> "Axes":
    """``ax``, or the axes of a new figure of so many inches.

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


def say_nothing(ax: "Axes", sentence: str) -> "Axes":
    """An empty picture that says why it is empty."""
    ax.set_axis_off()
    words: dict[str, Any] = {"ha": "center", "va": "center", "color": SOFT, "wrap": True}
    ax.text(0.5, 0.5, sentence, transform=ax.transAxes, parse_math=False, **words)
    return ax
