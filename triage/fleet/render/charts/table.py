"""Tables of a fleet's pages: what stands beside every picture, and is read aloud in its place."""

from collections.abc import Iterable, Sequence

from triage.render.pictures.markup import Html, constant, el, join

_Cell = str | None


def table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[_Cell]],
    *,
    left_out: int = 0,
    name: str = "",
) -> Html:
    """Rows under their heads; a head that begins with ``#`` is of figures, set to the right.

    The first cell of a row is its head. ``left_out`` rows are told under the table.
    """
    counts = [word.startswith("#") for word in head]
    heads = join(
        el("th", {"scope": "col", "class": "count" if counted else None}, word.removeprefix("#"))
        if word
        else el("td", None)
        for word, counted in zip(head, counts, strict=True)
    )
    body = join(
        el("tr", None, join(_cell(cell, place, counts) for place, cell in enumerate(row)))
        for row in rows
    )
    made = el(
        "table",
        {"class": name or None},
        el("caption", None, caption),
        el("thead", None, el("tr", None, heads)),
        el("tbody", None, body),
    )
    return join((scrolled(made, caption), left_out_of("p", left_out)))


def left_out_of(tag: str, number: int) -> Html | None:
    """How many rows are not shown, as a ``tag``; None where all are."""
    if number <= 0:
        return None
    return el(tag, {"class": "soft"}, f"and {number:,} more; the JSON has all of them.")


def paragraphs(sentences: Iterable[str]) -> Html:
    """One paragraph for each sentence."""
    return join(el("p", None, sentence) for sentence in sentences)


def facts(name: str, rows: Iterable[tuple[str, str]]) -> Html:
    """A list of terms and their values, of the class ``name``."""
    return el(
        "dl",
        {"class": name},
        join(join((el("dt", None, term), el("dd", None, value))) for term, value in rows),
    )


def _cell(cell: _Cell, place: int, counts: Sequence[bool]) -> Html:
    if place == 0:
        return el("th", {"scope": "row"}, cell)
    return el("td", {"class": "count" if counts[place] else None}, cell)


def picture(drawn: str, what: str, *beside: str | None) -> Html:
    """A picture with its caption ``beside`` it; nothing where nothing was drawn."""
    if not drawn:
        return constant("")
    return el(
        "figure", {"class": "picture"}, scrolled(drawn, what), el("figcaption", None, *beside)
    )


def scrolled(content: str, what: str) -> Html:
    """Content that may be wider than the screen; it scrolls by itself, by keyboard too."""
    return el(
        "div", {"class": "scroll", "tabindex": 0, "role": "group", "aria-label": what}, content
    )


def details(summary: str, *content: str | None) -> Html:
    """Content that opens at a press."""
    return el("details", None, el("summary", None, summary), *content)


def section(key: str, title: str, *content: str | None) -> Html:
    """A part of the page; its address is ``#key``. Nothing where there is nothing in it."""
    if not any(content):
        return constant("")
    return el(
        "section",
        {"id": constant(key), "aria-labelledby": constant(f"h-{key}")},
        el("h2", {"id": constant(f"h-{key}")}, title),
        *content,
    )
