"""The pages, and the commands that they show."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FRONT = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md")
PAGES = sorted([*(ROOT / name for name in FRONT), *DOCS.rglob("*.md")])
TEXT = {path: path.read_text("utf-8") for path in PAGES}
FENCE = re.compile(r"^```[a-z]*\n(.*?)^```$", re.M | re.S)

# "triage analyze DIR" or "python3 run.py triage analyze DIR", up to a pipe, a comment or the
# next command; "triage collect: sent 8 dumps" is what one prints.
SHOWN = re.compile(r"^(?:python3 run\.py )?triage ((?:[a-z]+\b(?!:)|--version|--help)[^|#>&;]*)")


def page(name: str) -> str:
    """The text of a page of ``docs/``."""
    return TEXT[DOCS / name]


def fenced_lines(path: Path) -> list[str]:
    """The lines of all blocks of a page."""
    return [line.strip() for block in FENCE.findall(TEXT[path]) for line in block.splitlines()]


def fenced_commands(path: Path) -> list[str]:
    """What a reader of a page types behind ``triage``, in the page's order."""
    found = [SHOWN.match(line) for line in fenced_lines(path)]
    return [match[1].strip() for match in found if match]
