"""The fleet's pages in real Chromium: readable by everybody, on any screen, without scripts."""

from collections.abc import Iterator

import pytest

from tests.fleet.services.small_fleet import LEMON
from tests.web.browser import Browser
from tests.web.fleet_site import fleet_service
from tests.web.looks import faults_of

PAGES = [
    "/fleet?days=90", "/fleet/nodes", "/fleet/repairs", "/fleet/plan?days=90&gpus=16384",
    "/fleet/checks", f"/nodes/{LEMON}",
]  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with fleet_service(tmp_path_factory.mktemp("fleet")) as service:
        yield f"http://127.0.0.1:{service.port}"


def test_everybody_can_read_each_page_on_each_screen(browser: Browser, site: str) -> None:
    page = browser.page()
    assert [fault for path in PAGES for fault in faults_of(page, f"{site}{path}")] == []
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


def test_a_lemon_is_told_by_more_than_its_colour(browser: Browser, site: str) -> None:
    page = browser.page()
    page.goto(f"{site}/fleet/nodes")
    assert page.run("document.querySelectorAll('tbody.lemon svg.sign .cross').length") == 1
    assert page.run("document.querySelector('tbody.lemon .grade').textContent") == "lemon"
    assert page.wrong() == []
