"""Logs, names and forms that attack whoever reads them: every page shows them as what they are."""

import html
from urllib.parse import quote

import pytest

from tests.api.service import Service
from tests.web.site import GOOD, Reading, Visit, analyse, sent

SCRIPT = "<script>alert(1)</script>"
ATTRIBUTE = "\"' onmouseover=alert(1) x=\"'"
BIDI = "\u202ereversed\u2066"
ESCAPE = "\x1b[31mred\x9b0m"
TEMPLATE = "{{ 7*7 }}{% raw %}${7*7}"
ENTITY = "&lt;img src=x onerror=alert(1)&gt;"
NASTY = (SCRIPT, ATTRIBUTE, BIDI, ESCAPE, TEMPLATE, ENTITY, "]]></svg><svg onload=alert(1)>")
UNSEEN = {*map(chr, range(32)), *map(chr, range(127, 160)), *"\u202e\u2066\u2028\ufeff"} - {"\n"}
XID = "NVRM: Xid (PCI:0000:1b:00): 79, pid={}, GPU has fallen off the bus."


def files() -> dict[str, bytes]:
    node = f"nodes/n<b>{SCRIPT[:8]}"
    lines = [
        f"2026-11-21T01:36:30.4{k:02}+00:00 n1 kernel: {XID.format(one)}"
        for k, one in enumerate(NASTY)
    ]
    found = dict(GOOD)
    found[f"{node}/kernel.log"] = "\n".join(lines).encode()
    found["nodes/gpu-0102/job <img src=x>.log"] = "\n".join(
        [f"[rank2]: RuntimeError: {one}" for one in NASTY]
    ).encode()
    for k, one in enumerate(NASTY):
        clean = one.replace("/", "_").replace("\x1b", "")
        found[f"nodes/gpu-0102/{k} {clean}.log"] = b"[1.0] x\n" + one.encode()
    return found


@pytest.fixture(scope="module")
def attacked(opened: Service) -> tuple[str, list[str]]:
    """The incident, and every page of it that there is."""
    job = f"{SCRIPT}&amp;{BIDI}"
    incident = sent(opened, job, files())
    analyse(opened)
    visit = Visit(opened)
    root = f"/incidents/{incident}"
    pages = ["/incidents", f"/incidents?job_id={quote(job)}", root, f"{root}?role=any",
             f"{root}/files", "/queue"]  # fmt: skip
    pages += sorted({link.partition("#")[0] for page in pages for link in visit.read(page).links()
                     if link.startswith((root, "/nodes/"))} - set(pages))  # fmt: skip
    return incident, [page for page in pages if "/raw/bytes" not in page]


def test_nothing_of_it_becomes_markup(opened: Service, attacked: tuple[str, list[str]]) -> None:
    visit = Visit(opened)
    _, pages = attacked
    assert len(pages) > 15
    shown = ""
    for path in pages:
        text = visit.get(path).body.decode()
        page = Reading(text)
        assert not page.all("img"), path
        assert all("onload" not in one and "onerror" not in one for _, one in page.tags), path
        assert all("onmouseover" not in one for _, one in page.tags), path
        assert all(one.get("src", "").startswith("/static/") for one in page.all("script")), path
        shown += text
    assert html.escape(SCRIPT, quote=False) in shown


def test_nothing_of_it_is_unseen(opened: Service, attacked: tuple[str, list[str]]) -> None:
    visit = Visit(opened)
    _, pages = attacked
    for path in pages:
        text = visit.get(path).body.decode()
        assert not UNSEEN & set(text), (path, UNSEEN & set(text))
    raw = next(page for page in pages if ("/raw?" in page and "2%20" in page) or "2+" in page)
    assert "\\u202e" in visit.read(raw).words


def test_no_template_of_it_is_filled_in(opened: Service, attacked: tuple[str, list[str]]) -> None:
    visit = Visit(opened)
    _, pages = attacked
    shown = " ".join(visit.read(path).words for path in pages)
    assert "{{ 7*7 }}" in shown
    assert "49{%" not in shown


@pytest.mark.parametrize("nasty", NASTY, ids=range(len(NASTY)))
@pytest.mark.parametrize(
    "path", ["/nodes/{}", "/incidents?job_id={}", "/incidents/{}", "/upload?job_id={}", "/{}"]
)
def test_an_address_is_shown_as_what_it_is(opened: Service, nasty: str, path: str) -> None:
    answer = Visit(opened).get(path.format(quote(nasty, safe="")))
    text = answer.body.decode()
    assert answer.status in (200, 404, 422)
    assert not UNSEEN & set(text)
    if answer.headers["content-type"].startswith("text/html"):
        page = Reading(text)
        assert not page.all("svg")
        assert all("onmouseover" not in one for _, one in page.tags)


def test_a_saved_file_has_a_harmless_name(opened: Service, attacked: tuple[str, list[str]]) -> None:
    incident, _ = attacked
    for name in files():
        path = f"/incidents/{incident}/raw/bytes?file={quote(name)}"
        answer = Visit(opened).get(path)
        if answer.status == 200:
            given = answer.headers["content-disposition"]
            assert given.startswith('attachment; filename="')
            assert not set("<>'\r\n;\\") & set(given.removeprefix("attachment; filename="))
