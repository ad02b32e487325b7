"""``/docs`` as a browser draws it: whole, and without a complaint."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.api.service import Service

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture
def browser() -> str:
    for name in BROWSERS:
        if found := shutil.which(name):
            return found
    pytest.skip("no Chromium on this machine")


def drawn(browser: str, address: str, folder: Path) -> tuple[str, list[str]]:
    """The page once its script has run, and what the browser's console said."""
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
         f"--user-data-dir={folder}", "--virtual-time-budget=10000", "--dump-dom", address],
        capture_output=True, check=False, text=True, timeout=600,
    )  # fmt: skip
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def test_a_browser_draws_every_route_and_complains_of_nothing(
    service: Service, browser: str, tmp_path: Path
) -> None:
    page, said = drawn(browser, f"http://127.0.0.1:{service.port}/docs", tmp_path)
    assert said == []
    described = service.get("/openapi.json", token=None).json()
    for path, methods in described["paths"].items():
        for method in methods:
            assert f'data-words="{method} {path} ' in page, (method, path)
    for name in described["components"]["schemas"]:
        assert f'id="shape-{name}"' in page
    places = set(re.findall(r'id="([^"]+)"', page))
    links = set(re.findall(r'href="#([^"]+)"', page))
    assert links
    assert links <= places, "a link leads nowhere"
