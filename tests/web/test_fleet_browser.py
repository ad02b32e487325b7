"""The fleet's pages in real Chromium: readable by everybody, on any screen, without scripts."""

import json
from collections.abc import Iterator

import pytest

from tests.fleet.services.small_fleet import LEMON
from tests.web.browser import Browser, browsing
from tests.web.fleet_site import fleet_service
from tests.web.test_browser import AXE, SERIOUS

PAGES = [
    "/fleet?days=90", "/fleet/nodes", "/fleet/plan?days=90&gpus=16384", "/fleet/checks",
    f"/nodes/{LEMON}",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with fleet_service(tmp_path_factory.mktemp("fleet")) as service:
        yield f"http://127.0.0.1:{service.port}"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_everybody_can_read_it(browser: Browser, site: str, dark: bool) -> None:
    page = browser.page(dark=dark)
    found = []
    for path in PAGES:
        page.goto(f"{site}{path}")
        page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        page.run(AXE)
        told = page.run("axe.run({resultTypes: ['violations']}).then((r) => JSON.stringify(r))")
        found += [
            (path, one["id"], [node["html"][:150] for node in one["nodes"][:3]])
            for one in json.loads(told)["violations"]
            if one["impact"] in SERIOUS
        ]
    assert found == []
    assert page.wrong() == []


@pytest.mark.parametrize("width", [360, 768, 1200])
def test_no_page_is_wider_than_the_screen(browser: Browser, site: str, width: int) -> None:
    page = browser.page(width)
    for path in PAGES:
        page.goto(f"{site}{path}")
        page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.run("document.documentElement.scrollWidth") <= width, path
    assert page.wrong() == []


def test_a_plan_is_worked_out_with_the_keyboard_alone_and_without_scripts(
    browser: Browser, site: str
) -> None:
    page = browser.page()
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    page.goto(f"{site}/fleet/plan?days=90")
    page.run("document.querySelector('[name=gpus]').focus()")
    page.write("4096")
    before = len(page.loaded)
    page.key("Enter")
    page.until(lambda: len(page.loaded) > before, "the plan")
    assert "A job of 4,096 GPUs stops every" in page.text()
    assert "gpus=4096" in page.run("location.search")
    assert page.wrong() == []


def test_an_accused_switch_and_a_lemon_are_told_by_more_than_their_colour(
    browser: Browser, site: str
) -> None:
    page = browser.page()
    page.goto(f"{site}/fleet/nodes")
    signs = "document.querySelectorAll('svg.leaves .lemon-sign').length"
    assert page.run(signs) == 1
    assert page.run("document.querySelector('svg.leaves desc').textContent").startswith("1 lemon")
    assert page.wrong() == []
