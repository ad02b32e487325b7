"""What everybody needs of a page: axe finds nothing in light or dark, and it fits each screen."""

import json
from collections.abc import Iterator
from pathlib import Path

from tests.web.browser import Page

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
WIDTHS = (360, 768, 1280, 2560)


def faults_of(page: Page, address: str) -> list[tuple[object, ...]]:
    """Violations and overflows of the page at this address, with all that is folded opened."""
    page.scheme("light")
    page.size(1200, 900)
    page.goto(address)
    page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.run(AXE)
    found = list(violations(page, address, "{resultTypes: ['violations']}"))
    page.scheme("dark")  # which changes colours and no more
    found += violations(page, address, "{runOnly: ['color-contrast']}")
    for width in WIDTHS:
        page.size(width, 900)
        if page.run("document.documentElement.scrollWidth") > width:
            found.append((address, width))
    return found


def violations(page: Page, address: str, options: str) -> Iterator[tuple[object, ...]]:
    told = page.run(f"axe.run({options}).then((r) => JSON.stringify(r.violations))")
    for one in json.loads(told):
        yield address, one["id"], [node["html"][:150] for node in one["nodes"][:3]]
