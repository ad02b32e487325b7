r"""Templates: pages whose text is ours and whose values are not.

Log lines and names come from machines that may be compromised. Each value is made visible (a
control character shows as ``\x1b``, a bidi override as ``\u202e``) and then escaped; only markup
that was built by a template or by :mod:`triage.render.pictures.markup` passes as it is.
"""

import base64
import hashlib
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from triage.domain.counts import count
from triage.domain.wire import format_iso_utc
from triage.render.words.answer import (
    describe_cause,
    describe_symptom_facts,
    describe_symptom_place,
    format_belief,
    restart_text,
)
from triage.render.words.clean import format_one_line
from triage.render.words.ranges import condense, condense_names
from triage.render.words.stacks import place_words

_FOLDER = Path(__file__).parent / "templates"
CSS = (_FOLDER / "report.css").read_text("utf-8")
SCRIPT = (_FOLDER / "report.js").read_text("utf-8")
"""The style sheet of the page and its one script: both stand inside it, and its policy names them
by hash, so that markup which slipped through from a log could neither run, restyle nor load.
"""
# One text of the input never makes a page that is kept; the whole of it is in the JSON.
_MAX_TEXT_CELLS = 2000


def make_environment(
    *folders: Path, max_cells: int | None = _MAX_TEXT_CELLS, autoescape: bool = True
) -> Environment:
    """The templates of ``folders``, then those here; values are cut at ``max_cells``.

    Without ``autoescape`` they are of plain text.
    """

    def make_visible(value: object) -> object:
        if not isinstance(value, str) or isinstance(value, Markup) or not value:
            return value
        # Blanks at the ends keep words apart.
        before, after = " " * value[0].isspace(), " " * value[-1].isspace()
        return f"{before}{format_one_line(value, max_cells)}{after}"

    made = Environment(
        loader=FileSystemLoader([*folders, _FOLDER]),
        autoescape=autoescape,
        finalize=make_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "belief": format_belief,
        "cause": describe_cause,
        "count": count,
        "cut": format_one_line,
        "iso": format_iso_utc,
        "names": _shorten_names,
        "number": lambda value: f"{value:,}",
        "place": place_words,
        "ranks": _shorten_ranks,
        "restart": restart_text,
        "symptom": describe_symptom_facts,
        "symptom_place": describe_symptom_place,
    }
    return made


# The answer of 16,384 ranks has dozens of lists of thousands, and is shown again and again.
@lru_cache(maxsize=512)
def _shorten_ranks(ranks: tuple[int, ...], most: int = 120) -> str:
    """Ranks as spans, in at most ``most`` characters."""
    return condense(ranks, max_chars=most)


@lru_cache(maxsize=64)
def _shorten_names(names: tuple[str, ...], most: int = 200) -> str:
    """Names of nodes in brackets, in at most ``most`` characters."""
    return condense_names(names, max_chars=most)


def compute_policy_source(text: str) -> str:
    """The source by which a policy lets just this style sheet or script through."""
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest())
    return f"'sha256-{digest.decode('ascii')}'"


POLICY = (
    f"default-src 'none'; style-src {compute_policy_source(CSS)}; script-src"
    f" {compute_policy_source(SCRIPT)}; "
    "base-uri 'none'; form-action 'none'"
)
"""Content-Security-Policy of the page."""
