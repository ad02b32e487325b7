"""Tables of a fleet's pages: what stands beside every picture, and is read aloud in its place."""

from collections.abc import Iterable, Sequence

from triage.render.pictures.markup import Html, join, make_element, trust_markup

_Cell = str | None


def render_rows_table(
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
        make_element(
            "th", {"scope": "col", "class": "count" if counted else None}, word.removeprefix("#")
        )
        if word
        else make_element("td", None)
        for word, counted in zip(head, counts, strict=True)
    )
    body = join(
        make_element(
            "tr", None, join(_render_cell(cell, place, counts) for place, cell in enumerate(row))
        )
        for row in rows
    )
    made = make_element(
        "table",
        {"class": name or None},
        make_element("caption", None, caption),
        make_element("thead", None, make_element("tr", None, heads)),
        make_element("tbody", None, body),
    )
    return join((render_scrolled(made, caption), render_left_out("p", left_out)))


def render_left_out(tag: str, number: int) -> Html | None:
    """How many rows are not shown, as a ``tag``; None where all are."""
    if number <= 0:
        return None
    return make_element(tag, {"class": "soft"}, f"and {number:,} more; the JSON has all of them.")


def render_paragraphs(sentences: Iterable[str]) -> Html:
    """One paragraph for each sentence."""
    return join(make_element("p", None, sentence) for sentence in sentences)


def render_facts(name: str, rows: Iterable[tuple[str, str]]) -> Html:
    """A list of terms and their values, of the class ``name``."""
    return make_element(
        "dl",
        {"class": name},
        join(
            join((make_element("dt", None, term), make_element("dd", None, value)))
            for term, value in rows
        ),
    )


def _render_cell(cell: _Cell, place: int, counts: Sequence[bool]) -> Html:
    if place == 0:
        return make_element("th", {"scope": "row"}, cell)
    return make_element("td", {"class": "count" if counts[place] else None}, cell)


def render_picture(drawn: str, what: str, *beside: str | None) -> Html:
    """A picture with its caption ``beside`` it; nothing where nothing was drawn."""
    if not drawn:
        return trust_markup("")
    return make_element(
        "figure",
        {"class": "picture"},
        render_scrolled(drawn, what),
        make_element("figcaption", None, *beside),
    )


def render_scrolled(content: str, what: str) -> Html:
    """Content that may be wider than the screen; it scrolls by itself, by keyboard too."""
    return make_element(
        "div", {"class": "scroll", "tabindex": 0, "role": "group", "aria-label": what}, content
    )


def render_details(summary: str, *content: str | None) -> Html:
    """Content that opens at a press."""
    return make_element("details", None, make_element("summary", None, summary), *content)


def render_section(key: str, title: str, *content: str | None) -> Html:
    """A part of the page; its address is ``#key``. Nothing where there is nothing in it."""
    if not any(content):
        return trust_markup("")
    return make_element(
        "section",
        {"id": trust_markup(key), "aria-labelledby": trust_markup(f"h-{key}")},
        make_element("h2", {"id": trust_markup(f"h-{key}")}, title),
        *content,
    )
