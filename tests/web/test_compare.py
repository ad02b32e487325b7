"""Two incidents side by side: what is the same, what differs, and whose they may be."""

import pytest

from tests.api.service import Service
from tests.web.site import GOOD, Visit, analyse, sent
from triage.services.tokens import create_token


@pytest.fixture(scope="module")
def other(opened: Service, ready: str) -> str:
    """The same failure without the dumps, of another job."""
    files = {name: data for name, data in GOOD.items() if name.endswith(".log")}
    found = sent(opened, "4712", files)
    analyse(opened)
    return found


def test_both_are_shown_with_what_they_have_in_common(
    opened: Service, ready: str, other: str
) -> None:
    page = Visit(opened).read(f"/incidents/compare?a={ready}&b={other}")
    for words in ("nodes: gpu-0102", "xid 79"):
        assert words in page.words
    assert {f"/incidents/{ready}", f"/incidents/{other}"} <= {*page.links()}
    assert len(page.all("tr", **{"class": "differs"})) > 0


def test_an_incident_is_like_itself(opened: Service, ready: str) -> None:
    page = Visit(opened).read(f"/incidents/compare?a={ready}&b={ready}")
    assert "Both are of one problem." in page.words
    assert page.all("tr", **{"class": "differs"}) == []


def test_one_alone_is_a_choice_and_none_is_no_error(opened: Service, ready: str) -> None:
    page = Visit(opened).read(f"/incidents/compare?a={ready}")
    assert page.all("option", value=ready)
    assert "one problem" not in page.words
    assert Visit(opened).get("/incidents/compare").status == 200
    assert f"/incidents/compare?a={ready}" in Visit(opened).read(f"/incidents/{ready}").links()


def test_before_an_answer_it_says_so(opened: Service, ready: str) -> None:
    made = opened.post("/v1/hooks/job-failed", {"job_id": "empty"}, token=None).json()["id"]
    page = Visit(opened).read(f"/incidents/compare?a={ready}&b={made}")
    assert "One of them has no answer yet" in page.words


@pytest.mark.parametrize("query", ["a=inc_none", "a=%00", "a=../x", "b=inc_none"])
def test_what_is_not_there_is_404(opened: Service, query: str) -> None:
    assert Visit(opened).get(f"/incidents/compare?{query}").status == 404


def test_an_incident_of_another_cluster_is_not_there(service: Service) -> None:
    ids, tokens = {}, {}
    for name in ("a", "b"):
        _, tokens[name] = create_token(service.ctx, name, ["read", "ingest"], "t", cluster=name)
        told = service.post("/v1/hooks/job-failed", {"job_id": f"of-{name}"}, token=tokens[name])
        ids[name] = told.json()["id"]
    path = f"/incidents/compare?a={ids['a']}&b={ids['b']}"
    assert service.get(path, token=tokens["a"]).status == 404
    own = service.get(f"/incidents/compare?a={ids['a']}", token=tokens["a"])
    assert own.status == 200
    assert ids["b"] not in own.body.decode()
