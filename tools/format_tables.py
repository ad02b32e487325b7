"""The table of checkers in docs/formats.md, out of the tables of formats.

Run as ``python -m tools.format_tables``: it writes the rows into the page, between its marks.
"""

from pathlib import Path
from typing import Final

from triage.formats.health.table import list_tools, load_file_beside
from triage.formats.registry import FAMILIES

PAGE: Final = Path(__file__).parents[1] / "docs" / "formats.md"
BEGIN: Final = "<!-- tools: written by python -m tools.format_tables -->\n"
END: Final = "<!-- end of tools -->\n"
_HEAD: Final = "| tool | checks | fails | warns |\n|---|---|---|---|\n"


def table_of_tools() -> str:
    """The rows of all tools, as Markdown."""
    rows = [
        f"| {one.name} | {one.checks} | {one.fails} | {one.warns} |\n"
        for family in FAMILIES
        for one in list_tools(load_file_beside(family[0].__name__))
    ]
    return _HEAD + "".join(rows)


def _main() -> None:
    """Write the rows into the page."""
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, behind = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}{table_of_tools()}{END}{behind}", "utf-8")


if __name__ == "__main__":
    _main()
