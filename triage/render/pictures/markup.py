"""Markup: HTML and SVG elements that escape what they are given.

A plain ``str`` is foreign text: it is cleaned and escaped. Only what ``make_element`` built is
``Html`` and passes as it is, so that forgetting to escape is not possible.
"""

from collections.abc import Iterable, Mapping
from html import escape
from typing import TypeAlias

from markupsafe import Markup

from triage.render.words.clean import format_one_line

# One text of the input never makes the page; the whole of it is in the JSON.
_MAX_TEXT_CELLS = 2000

_VOID = frozenset({"br", "meta"})

Attributes = Mapping[str, str | int | float | bool | None]


Html: TypeAlias = Markup
"""Markup that is already safe."""


def make_element(tag: str, attributes: Attributes | None = None, /, *children: str | None) -> Html:
    """``<tag ...>children</tag>``; a ``str`` child is escaped, an ``Html`` child is not.

    An attribute of None or False is left out, True stands without a value. ``tag`` and
    attribute names are ours, never the input's.
    """
    head = tag + "".join(_attribute(name, value) for name, value in (attributes or {}).items())
    if tag in _VOID:
        return Html(f"<{head}>")
    return Html(f"<{head}>{join(children)}</{tag}>")


def join(children: Iterable[str | None], between: str = "") -> Html:
    """The children one after the other, each escaped unless it is ``Html``."""
    return Html(between.join(_escape_child(child) for child in children if child is not None))


def trust_markup(markup: str) -> Html:
    """Markup written in this program: style sheet, script, document type."""
    return Html(markup)


def make_column_heads(names: Iterable[str]) -> Html:
    """The ``thead`` of a table; a name that is ``Html`` is a whole ``th``."""
    heads = (
        name if isinstance(name, Html) else make_element("th", {"scope": "col"}, name)
        for name in names
    )
    return make_element("thead", None, make_element("tr", None, join(heads)))


def make_html_table(
    names: Iterable[str], rows: Iterable[Html], *, name: str | None = None, caption: str = ""
) -> Html:
    """A table of ``rows`` (each a ``tr``) below the names of its columns; ``name`` is its class."""
    return make_element(
        "table",
        {"class": name},
        make_element("caption", None, caption) if caption else None,
        make_column_heads(names),
        make_element("tbody", None, join(rows)),
    )


def make_svg(name: str, title: str, desc: str, size: tuple[int, int], *drawn: str | None) -> Html:
    """A picture of ``size`` (width, height in pixels) that carries its own font for notebooks.

    ``name`` is its class; ``title`` and ``desc`` are read aloud in its place.
    """
    width, height = size
    return make_element(
        "svg",
        {
            "class": name,
            "role": "img",
            "aria-label": title,
            "viewBox": f"0 0 {width} {height}",
            "width": width,
            "height": height,
            "font-family": "system-ui, sans-serif",
            "font-size": 12,
        },
        make_element("title", None, title),
        make_element("desc", None, desc),
        *drawn,
    )


def _escape_child(child: str) -> str:
    if isinstance(child, Html):
        return child
    text = format_one_line(child, _MAX_TEXT_CELLS)
    # Blanks at the ends keep words apart; a newline between commands is ours.
    if not text:
        return "\n" if child == "\n" else " " if child else ""
    return f"{' ' if child[0] == ' ' else ''}{escape(text)}{' ' if child[-1] == ' ' else ''}"


def _attribute(name: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    text = str(value) if isinstance(value, Html) else format_one_line(str(value))
    return f' {name}="{escape(text)}"'
