"""Pictures of pages: each is shown by a page of docs, and the tool draws each anew."""

import re
from pathlib import Path

from tools.screenshots import SHOTS

ROOT = Path(__file__).resolve().parents[2]
SHOWN = re.compile(r"images/([a-z0-9-]+\.png)")


def test_every_picture_is_shown_and_can_be_drawn_anew() -> None:
    there = {path.name for path in (ROOT / "docs" / "images").iterdir()}
    pages = (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
    assert {name for page in pages for name in SHOWN.findall(page.read_text("utf-8"))} == there
    assert {f"{shot.name}.png" for shot in SHOTS} == there
