"""The search box: hits, near misses, hostile texts, and what is said where not all was searched."""

from urllib.parse import quote

import pytest

from tests.api.service import Service
from tests.web.site import Visit
from triage.services import search


def hits(service: Service, text: str) -> list[tuple[str, str, bool]]:
    answer = service.get(f"/v1/search?q={quote(text, safe='')}", token=None)
    assert answer.status == 200, answer.body
    return [(one["kind"], one["name"], one["exact"]) for one in answer.json()["hits"]]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("4711", ("job", "4711", True)),
        ("471", ("job", "4711", False)),
        ("gpu-0102", ("node", "gpu-0102", True)),
        ("GPU-0102", ("node", "gpu-0102", True)),
        ("pu-0102", ("node", "gpu-0102", False)),
        ("xid 79", ("code", "xid 79", True)),
        ("XID:79", ("code", "xid 79", True)),
        ("fallen off the BUS", ("evidence", "fallen off the BUS", False)),
        ("  4711  ", ("job", "4711", True)),
    ],
)
def test_what_is_searched_for_comes_first(opened: Service, ready: str, text: str, first) -> None:
    assert hits(opened, text)[0] == first


def test_an_incident_is_found_by_its_id(opened: Service, ready: str) -> None:
    assert hits(opened, ready)[0] == ("incident", ready, True)
    assert hits(opened, ready[:-1]) == []


@pytest.mark.parametrize(
    "text",
    ["xid 78", "xid 790", "sxid 79", "4712", "gpu-01022", "fallen%bus", "_", "%", "\\", "zz",
     "fallen  off", "'; DROP TABLE evidence; --", "<script>alert(1)</script>", "%00", "\u202e"],
)  # fmt: skip
def test_near_misses_find_nothing(opened: Service, ready: str, text: str) -> None:
    assert hits(opened, text) == []
    page = Visit(opened).read(f"/search?q={quote(text, safe='')}")
    assert "Nothing bears" in page.words
    assert page.all("script") == Visit(opened).read("/search").all("script")


@pytest.mark.parametrize(
    "query",
    ["", "q=", "q=%20", f"q={'a' * 201}", "q=%00", "q=a%0Ab", "q=a&q=b", "q=%FF", "q=a&limit=1",
     "q=a&cursor=x", "q=a&cursor=WyJldmlkZW5jZSIsMV0"],
)  # fmt: skip
def test_what_is_no_question_is_refused(opened: Service, query: str) -> None:
    assert opened.get(f"/v1/search?{query}", token=None).status == 422


def test_a_page_without_a_text_says_what_can_be_found(opened: Service) -> None:
    assert "xid 79" in Visit(opened).read("/search").words
    moved = Visit(opened).get("/search?q=&cluster=")
    assert (moved.status, moved.headers["location"]) == (303, "/search")


def test_the_page_leads_to_what_was_found_and_marks_it(opened: Service, ready: str) -> None:
    page = Visit(opened).read("/search?q=fallen%20off")
    assert f"/incidents/{ready}?role=any#evidence" in page.links()
    assert len(page.all("mark")) == 1
    assert "/nodes/gpu-0102" in Visit(opened).read("/search?q=gpu-0102").links()


def test_where_time_is_over_it_says_so_and_goes_on_from_there(
    opened: Service, ready: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SECONDS", 0.0)
    cut = opened.get("/v1/search?q=fallen", token=None).json()
    assert cut["hits"] == []
    page = Visit(opened).read("/search?q=fallen")
    assert "So far nothing bears fallen" in page.words
    [older] = [one["href"] for one in page.all("a", rel="next")]
    monkeypatch.undo()

    rest = opened.get(f"/v1/search?q=fallen&cursor={cut['next_cursor']}", token=None).json()
    assert [one["incident_id"] for one in rest["hits"]] == [ready]
    assert rest["next_cursor"] is None
    page = Visit(opened).read(older)
    assert f"/incidents/{ready}?role=any#evidence" in page.links()
    assert "/search?q=fallen" in page.links()
    assert not page.all("a", rel="next")
    # Names were listed on the first page.
    named = opened.get(f"/v1/search?q=4711&cursor={cut['next_cursor']}", token=None).json()
    assert "job" not in {one["kind"] for one in named["hits"]}


def test_a_span_at_a_time_the_newest_first(
    opened: Service, ready: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = opened.get("/v1/search?q=gpu", token=None).json()
    monkeypatch.setattr(search.stored, "SPAN", 3)
    assert opened.get("/v1/search?q=gpu", token=None).json() == everything
    assert everything["next_cursor"] is None
    assert everything["searched_since"] is None
