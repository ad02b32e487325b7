"""The pages in real Chromium: from an upload to the verdict, by mouse and by keyboard alone.

At the end of each test nothing may have gone wrong: no error on the console, no request to
another host, nothing that the content security policy had to stop, no dialog.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.service import Service, context_at, serving
from tests.services.whole_jobs import GPU_LOST
from tests.web.browser import Browser, Page
from tests.web.looks import faults_of
from tests.web.site import GOOD, sent, working
from tests.web.test_hostile import files
from triage.fleet.web import overview


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    found = browser.page()
    yield found
    assert found.wrong() == []


@pytest.fixture(scope="module")
def site(opened: Service) -> Iterator[str]:
    """The address of an open service whose worker works."""
    with working(opened):
        yield f"http://127.0.0.1:{opened.port}"


@pytest.fixture(scope="module")
def incident(opened: Service, site: str, ready: str) -> str:
    return settled(opened, site, ready)


def settled(opened: Service, site: str, incident: str) -> str:
    """Its address, once the worker beside has answered it."""
    end = time.monotonic() + 180
    while opened.get(f"/v1/incidents/{incident}", token=None).json()["state"] != "ready":
        assert time.monotonic() < end
        time.sleep(0.05)
    return f"{site}/incidents/{incident}"


@pytest.fixture(scope="module")
def hostile(opened: Service, site: str) -> str:
    found = sent(opened, "hostile <script>alert(1)</script>", files())
    return settled(opened, site, found)


def test_from_files_to_the_verdict(page: Page, site: str) -> None:
    page.goto(f"{site}/upload")
    page.choose("input[name=files]", [p for p in sorted(GPU_LOST.rglob("*")) if p.is_file()])
    page.wait("document.querySelector('#chosen').textContent.includes('12 files')")
    # The name comes out of job.json.
    assert page.wait("document.querySelector('[name=job_id]').value") == "88213"
    page.click("button.first")
    page.wait("location.pathname.startsWith('/incidents/')")
    page.wait("document.querySelector('h1').textContent.includes('fallen off the bus')")
    page.wait("document.querySelector('.state-word').textContent === 'ready'")


def test_a_folder_is_sent_with_its_paths(page: Page, site: str, opened: Service) -> None:
    page.goto(f"{site}/upload")
    page.choose("input[name=folder]", [GPU_LOST])
    page.wait("document.querySelector('#chosen').textContent.includes('files')")
    page.run("document.querySelector('[name=job_id]').value = 'folder'")
    page.click("button.first")
    page.wait("location.pathname.startsWith('/incidents/')")
    page.wait("document.querySelector('h1').textContent.includes('gpu-0102')")


def test_names_of_any_length_and_script_come_through_the_browsers_tar(
    page: Page, site: str, opened: Service, tmp_path: Path
) -> None:
    names = ["plain.log", "ü" * 40 + ".log", "n" * 99 + ".log", "n" * 96 + ".log", "日本 語.log"]
    for name in names:
        (tmp_path / name).write_bytes(b"[1.0] " + name.encode() + b"\n")
    page.goto(f"{site}/upload")
    page.choose("input[name=files]", [tmp_path / name for name in names])
    page.wait("document.querySelector('#chosen').textContent.startsWith('5 files')")
    page.run("document.querySelector('[name=job_id]').value = 'names'")
    page.click("button.first")
    where = page.wait("location.pathname.startsWith('/incidents/') && location.pathname")
    answer = opened.get(f"/v1{where}/artifacts", token=None).json()["items"]
    assert {one["filename"] for one in answer} == set(names)


def test_what_is_refused_is_said_on_the_page(page: Page, site: str) -> None:
    page.expected = ("422",)
    page.goto(f"{site}/upload")
    page.click("button.first")
    page.wait("document.querySelector('#said').textContent.includes('Choose files')")
    page.run(
        "(() => { const t = new DataTransfer();"
        " t.items.add(new File(['no tar at all'], 'x.tar'));"
        " const f = document.querySelector('[name=files]'); f.files = t.files;"
        " f.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )
    page.click("button.first")
    page.wait("document.querySelector('#said').textContent.includes('tar')")
    assert page.run("location.pathname") == "/upload"
    assert page.run("!document.querySelector('button.first').disabled")


def test_a_folder_that_is_dropped_is_taken_with_all_that_lies_in_it(page: Page, site: str) -> None:
    page.goto(f"{site}/upload")
    page.drop("#drop", [GPU_LOST], "dragOver")
    page.wait("document.getElementById('drop').classList.contains('over')")
    page.drop("#drop", [GPU_LOST], "drop")
    page.wait("document.querySelector('#chosen').textContent.startsWith('12 files,')")
    assert not page.run("document.getElementById('drop').classList.contains('over')")
    assert page.wait("document.querySelector('[name=job_id]').value") == "88213"


def test_a_live_page_fills_itself_and_then_stops_asking(
    page: Page, site: str, opened: Service
) -> None:
    found = opened.post(
        "/v1/hooks/job-failed", {"job_id": "live", "expected_artifacts": len(GOOD)}, token=None
    ).json()["incident"]["id"]
    page.goto(f"{site}/incidents/{found}")
    assert "Waiting for files" in page.text()
    page.wait(f"performance.getEntriesByName('{site}/incidents/{found}/answer').length > 0")
    sent(opened, "live", GOOD)
    page.wait("document.querySelector('h1').textContent.includes('fallen off the bus')")
    page.wait("!document.querySelector('#answer').hasAttribute('hx-get')")
    page.wait("document.querySelector('.rank-grid').dataset.drawMs")
    asked = len([url for url in page.requests if url.endswith("/answer")])
    page.run("new Promise((done) => setTimeout(done, 2500))")
    assert len([url for url in page.requests if url.endswith("/answer")]) == asked
    # What had not changed was not sent, nor put into the page again.
    assert 304 in {status for url, status in page.statuses if url.endswith("/answer")}


def test_a_reason_opens_its_line(page: Page, incident: str) -> None:
    page.goto(incident)
    page.click(".reasons a[href*='line=10']")
    page.wait("!!document.querySelector('.marked')")
    assert "GPU has fallen off the bus" in page.text(".marked")
    top = page.run("document.querySelector('.marked').getBoundingClientRect().top")
    assert 0 < top < 900


def test_a_command_is_copied(page: Page, incident: str) -> None:
    granted = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    page.browser.call(
        "Browser.grantPermissions", browserContextId=page.context, permissions=granted
    )
    page.goto(incident)
    # It says so for a moment, which a busy machine may miss.
    page.run(
        "(() => { window.said = []; const b = document.querySelector('.command [data-copy]');"
        " new MutationObserver(() => said.push(b.textContent)).observe(b, {childList: true}); })()"
    )
    page.click(".command [data-copy]")
    page.wait("said.includes('Copied')")
    copied = page.run("navigator.clipboard.readText()")
    assert copied.startswith("scontrol update nodename=gpu-0102 state=drain reason=triage:")
    page.wait("document.querySelector('.command [data-copy]').textContent === 'Copy'")


def test_filters_of_evidence_stand_in_the_address(page: Page, incident: str) -> None:
    page.goto(incident)
    page.run(
        "(() => { const f = document.querySelector('#evidence [name=role]'); f.value = 'any';"
        " f.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )
    page.wait("location.search === '?role=any'")
    rows = page.run("document.querySelectorAll('#evidence tbody tr').length")
    page.goto("about:blank")
    page.goto(f"{incident}?role=any")
    assert page.run("document.querySelectorAll('#evidence tbody tr').length") == rows
    assert page.run("document.querySelector('#evidence [name=role]').value") == "any"


def test_filters_of_the_list_stand_in_the_address(page: Page, incident: str, site: str) -> None:
    page.goto(f"{site}/incidents")
    page.run(
        "(() => { const f = document.querySelector('[name=category]'); f.value = 'gpu';"
        " f.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )
    page.wait("location.search === '?category=gpu'")
    assert "4711" in page.text("table")


def test_it_is_said_what_it_turned_out_to_be(page: Page, incident: str) -> None:
    page.goto(f"{incident}#resolution")
    page.run("document.querySelector('#resolution details').open = true")
    page.run("document.querySelector('#resolution .stack [name=category]').value = 'network'")
    page.click("#resolution textarea")
    page.write("a cable <img src=x onerror=alert(1)>")
    page.click("#resolution .stack button")
    page.wait("document.querySelector('#resolution p').textContent.includes('a cable <img')")


def test_the_grid_is_read_with_the_keyboard_alone(page: Page, incident: str) -> None:
    page.goto(incident)
    page.wait("document.querySelector('.rank-grid').dataset.drawMs")
    for _ in range(80):
        page.key("Tab")
        if page.run("document.activeElement.tagName") == "CANVAS":
            break
    told = "document.querySelector('figcaption').textContent"
    page.key("ArrowRight")
    assert page.run(told).startswith("rank 0, gpu-0101, waiting")
    page.key("n")
    assert page.run(told).startswith("rank 2, gpu-0102, culprit")
    page.key("ArrowDown")
    assert page.run(told).startswith("rank 3, gpu-0102")
    page.key("End", "ArrowRight", "ArrowDown")
    assert page.run(told).startswith("rank 7, gpu-0104")
    page.key("ArrowLeft", "ArrowUp")
    assert page.run(told).startswith("rank 4, gpu-0103")
    page.key("Home", "p")
    assert page.run(told).startswith("rank 2,")
    page.key("Escape")
    assert page.run(told).startswith("Point at a square")
    page.key("n", "Enter")
    page.wait("location.pathname === '/nodes/gpu-0102'")


def test_the_grid_tells_what_the_mouse_points_at(page: Page, incident: str) -> None:
    page.goto(incident)
    page.wait("document.querySelector('.rank-grid').dataset.drawMs")
    x, y = page.run(
        "(() => { const c = document.querySelector('canvas'); c.scrollIntoView();"
        " const b = c.getBoundingClientRect(); return [b.x, b.y]; })()"
    )
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + 40, y=y + 25)
    page.wait("document.querySelector('figcaption').textContent.startsWith('rank 2, ')")
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + 600, y=y + 25)
    page.wait("document.querySelector('figcaption').textContent.startsWith('Point at')")


def test_everything_can_be_reached_with_the_keyboard_and_shows_where_it_is(
    page: Page, incident: str
) -> None:
    page.goto(incident)
    wanted = page.run(
        "[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select,"
        " textarea, summary, canvas')].filter((e) => e.checkVisibility()).length"
    )
    page.run(
        "window.seen = new Set();"
        " document.addEventListener('focusin', (event) => { seen.add(event.target); })"
    )
    for _ in range(wanted + 40):
        page.key("Tab")
    unseen = page.run(
        "[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select,"
        " textarea, summary, canvas')].filter((e) => e.checkVisibility() && !seen.has(e))"
        ".map((e) => e.outerHTML)"
    )
    assert unseen == []
    page.goto(f"{incident}?role=root")
    page.key("Tab")
    assert page.run("document.activeElement.className") == "skip"
    page.key("Enter")
    assert page.run("document.activeElement.id") == "main"


def test_logging_in_and_out(browser: Browser, service: Service) -> None:
    page = browser.page()
    page.expected = ("401",)
    site = f"http://127.0.0.1:{service.port}"
    page.goto(f"{site}/queue")
    assert page.run("location.pathname + location.search") == "/login?next=%2Fqueue"
    for token in ("wrong", service.tokens["admin"]):
        page.wait("document.activeElement.name === 'token'")
        page.write(token)
        before = len(page.loaded)
        page.key("Enter")
        page.until(lambda before=before: len(page.loaded) > before, "the next page")
    page.wait("location.pathname === '/queue'")
    assert page.run("document.cookie") == ""
    page.click("form[action='/logout'] button")
    page.wait("location.pathname === '/login'")
    page.goto(f"{site}/incidents")
    assert page.run("location.pathname") == "/login"
    assert page.wrong() == []


def pages_of(hostile: str, site: str) -> list[str]:
    return [
        f"{site}/overview", f"{site}/search", f"{site}/search?q=gpu",
        f"{site}/incidents", hostile, f"{hostile}?role=any", f"{hostile}/files", f"{site}/queue",
        f"{site}/problems",
        f"{site}/upload", f"{site}/nodes/gpu-0102", f"{site}/login", f"{site}/incidents/none",
        f"{hostile}/raw?file=nodes/gpu-0102/kernel.log&line=3", f"{site}/fleet",
        f"{site}/fleet/nodes", f"{site}/fleet/plan?gpus=1024", f"{site}/fleet/checks",
    ]  # fmt: skip


def test_everybody_can_read_each_page_on_each_screen(
    browser: Browser, hostile: str, site: str
) -> None:
    page = browser.page()
    page.expected = ("404",)
    assert [fault for path in pages_of(hostile, site) for fault in faults_of(page, path)] == []
    assert page.wrong() == []


def test_the_overview_follows_keeps_its_place_and_says_when_it_is_stale(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "EVERY_S", 2)
    page = browser.page(800, 400)
    page.expected = ("ERR_", "htmx:afterRequest", "htmx:sendError")  # it is away
    ctx = context_at(tmp_path)
    with serving(ctx, open_access=True) as service:
        for number in range(6):
            service.post("/v1/hooks/job-failed", {"job_id": f"job-{number}"}, token=None)
        page.goto(f"http://127.0.0.1:{service.port}/overview")
        page.wait("document.querySelector('#fresh').textContent.startsWith('Fresh as of')")
        page.run("document.querySelectorAll('.incidents .main-link')[5].focus(); scrollTo(0, 250)")
        focused, top = page.run("[document.activeElement.id, scrollY]")
        assert focused.startswith("go-inc")
        assert top > 100
        service.post("/v1/hooks/job-failed", {"job_id": "one-more"}, token=None)
        page.wait("document.querySelector('.board').textContent.includes('one-more')", 60)
        assert page.run("[document.activeElement.id, scrollY]") == [focused, top]
        page.until(lambda: 304 in {code for url, code in page.statuses if "/board" in url}, "304")
        page.wait("!document.querySelector('.stale')")
    page.wait("!!document.querySelector('.stale')", 90)
    assert "does not answer" in page.text("#fresh")
    assert "one-more" in page.text(".board")
    ctx.close()
    assert page.wrong() == []


def test_times_are_of_the_readers_zone_and_utc_where_wanted(
    browser: Browser, incident: str
) -> None:
    page = browser.page()
    page.call("Emulation.setTimezoneOverride", timezoneId="Asia/Kolkata")
    page.goto(incident)
    first = "document.querySelector('.facts time')"
    page.wait("!document.querySelector('#zone').hidden")
    utc, local = page.run(f"[{first}.title, {first}.textContent]")
    assert utc.endswith(" UTC")
    assert local.endswith(" GMT+5:30")
    assert local != utc.replace("UTC", "GMT+5:30")
    assert page.run(f"{first}.dateTime.slice(0, 19).replace('T', ' ')") == utc[:19]
    # A row of a log has its time beside it; its own text stays what it was.
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.run(f"{first}.textContent") == utc
    page.run("dispatchEvent(new Event('afterprint'))")
    assert page.run(f"{first}.textContent") == local
    page.click("#zone")
    assert page.run(f"{first}.textContent") == utc
    page.goto(incident)
    page.wait("document.querySelector('#zone').textContent === 'UTC'")
    assert page.run(f"{first}.textContent") == utc
    assert page.wrong() == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_paper_is_light_and_has_what_decides_first(
    browser: Browser, incident: str, dark: bool
) -> None:
    page = browser.page(dark=dark)
    page.goto(incident)
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.run("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    shown = page.run(
        "[...document.querySelectorAll('header.top, button, form, .crumbs, .skip')]"
        ".filter((e) => e.checkVisibility()).length"
    )
    assert shown == 0
    tops = page.run(
        "['h1', '#h-suspects', '#h-coverage', '#h-evidence', '#h-ranks', '#h-timeline']"
        ".map((s) => document.querySelector(s).getBoundingClientRect().top)"
    )
    assert tops == sorted(tops)
    assert page.wrong() == []


def test_a_slash_goes_to_the_search_and_not_out_of_a_field(page: Page, site: str) -> None:
    page.goto(f"{site}/incidents")
    page.key("/")
    assert page.run("document.activeElement.id") == "find"
    page.key("/")
    page.write("xid 79")
    assert page.run("document.activeElement.value") == "/xid 79"
    page.key("Enter")
    page.wait("location.pathname + location.search === '/search?q=%2Fxid+79'")


def test_hostile_logs_run_nothing_and_load_nothing(page: Page, hostile: str) -> None:
    page.goto(hostile)
    places = page.run("[...document.querySelectorAll('main a')].map((a) => a.href)")
    page.goto(f"{hostile}/files")
    places += page.run("[...document.querySelectorAll('main a')].map((a) => a.href)")
    for place in dict.fromkeys(one.partition("#")[0] for one in places):
        if "/raw/bytes" not in place:
            page.goto(place)
    assert len(page.requests) > 20


def test_a_page_says_the_same_without_scripts(browser: Browser, incident: str) -> None:
    page = browser.page()
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    page.goto(incident)
    words = page.text()
    for part in ("GPU has fallen off the bus", "scontrol update", "culprit", "waits for another"):
        assert part in words
    assert page.wrong() == []
