"""Markup that the macros of ``pictures.html`` make: they escape what they are given."""

from functools import cache
from typing import Any, TypeAlias

from markupsafe import Markup

from triage.render.page.templates import make_environment

Html: TypeAlias = Markup
"""Markup that is already safe: it passes as it is, where a plain ``str`` is foreign text."""


@cache
def _load_macros() -> Any:  # noqa: ANN401 - has a macro as each attribute
    return make_environment().get_template("pictures.html").module


def draw(macro: str, *values: object) -> Html:
    """What a macro makes, without the blanks that part its elements in the template."""
    drawn = str(getattr(_load_macros(), macro)(*values))
    return Html("".join(line.strip() for line in drawn.split("\n")))
