"""Search on both databases: names and near misses, marks of LIKE, spans, clusters."""

from datetime import timedelta

import pytest
from sqlalchemy import delete, func, select

from models import Evidence
from tests.store.conftest import NOW, uploaded
from triage.services import search as service
from triage.store import search
from triage.store.uploads import evidence
from triage.store.uploads.evidence import Reading


def row(text: str, **columns) -> dict:
    return {
        "artifact": "a.log", "line": 1, "at": None, "clock": "none", "node": None, "rank": None,
        "kind": "nccl", "code": None, "gpu": None, "category": None, "role": "root",
        "signature": "s", "text": text, "count": 1, **columns,
    }  # fmt: skip


def added(database, opened, job: str, *rows: dict, cluster: str | None = None, now=NOW) -> str:
    """The id of an incident with these rows."""
    incident = opened(job, now=now, facts={"cluster": cluster} if cluster else {})
    _, ids = uploaded(database, incident, f"{job}-file", now=now)
    with database.writing() as session:
        evidence.add_readings(session, incident, [Reading(ids[f"{job}-file"], b"", rows)])
    return incident


def jobs(database, text: str) -> list[str]:
    with database.reading() as session:
        return [one.job_id for one in search.find_incidents(session, "job", text, None, 20)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("100%_done", ["100%_done"]),
        ("%", ["100%_done"]),
        ("_", ["100%_done"]),
        ("\\", ["back\\slash"]),
        ("back\\", ["back\\slash"]),
        ("PRETRAIN-7", ["pretrain-7", "pretrain-70"]),
        ("pretrain-7", ["pretrain-7", "pretrain-70"]),
        ("retrain-70", ["pretrain-70"]),
        ("pretrain_7", []),
        ("' OR 1=1 --", []),
        ("\x00", []),
    ],
)
def test_marks_of_like_mean_themselves_and_names_come_before_what_holds_them(
    database, opened, text, found
) -> None:
    for number, job in enumerate(("pretrain-7", "100%_done", "back\\slash", "pretrain-70")):
        if not jobs(database, job):
            opened(job, now=NOW + timedelta(seconds=number))

    assert jobs(database, text) == found


def test_rows_are_found_in_their_span_alone_one_an_incident(database, opened, unique) -> None:
    first = added(database, opened, f"{unique}-1", row(f"{unique} lost"), row(f"{unique} LOST"))
    second = added(database, opened, f"{unique}-2", row(f"{unique} lost"), row("other"))
    with database.reading() as session:
        last = search.find_newest_row(session)
        where = search.build_text_condition(session, f"{unique} lost")
        found = search.find_evidence(session, where, None, last)
        assert [(one.incident_id, one.count) for one in found] == [(second, 1), (first, 2)]
        assert search.find_evidence(session, where, None, last - 4) == []
        assert search.find_evidence(session, where, None, last + search.SPAN) == []
        assert search.find_arrival_time(session, 0) is not None
        assert search.find_arrival_time(session, last) is None


def test_a_code_is_of_its_kind(database, opened, unique) -> None:
    incident = added(
        database, opened, unique, row("a", kind="xid", code=47), row("b", kind="sxid", code=47),
        row("c", kind="xid", code=479),
    )  # fmt: skip
    with database.reading() as session:
        last = search.find_newest_row(session)
        [found] = search.find_evidence(session, search.build_code_condition("xid", 47), None, last)
    assert (found.incident_id, found.text, found.count) == (incident, "a", 1)


def walked(session, text: str, older: int | None = None) -> service.Walked:
    return service.walk(
        session, search.build_text_condition(session, text), None, "evidence", text, older
    )


@pytest.mark.parametrize("span", [1, 3, 1000])
def test_from_page_to_page_each_incident_is_listed_once_the_newest_hit_first(
    database, opened, unique, monkeypatch, span
) -> None:
    monkeypatch.setattr(search, "SPAN", span)
    monkeypatch.setattr(service, "MAX_HITS", 2)
    jobs = [f"{unique}-{n}" for n in range(5)]
    first, *others = (added(database, opened, job, row(f"{unique} up"), row("-")) for job in jobs)
    _, ids = uploaded(database, first, f"{unique}-late", now=NOW)
    with database.writing() as session:
        late = Reading(ids[f"{unique}-late"], b"", [row(f"{unique} UP")])
        evidence.add_readings(session, first, [late])

    listed, older = [], None
    with database.reading() as session:
        while older != 0:
            page = walked(session, unique, older)
            listed += [hit.incident_id for hit in page.hits[: service.MAX_HITS]]
            assert (page.since is None) == (page.rest == 0)
            older = page.rest
    assert listed == [first, *reversed(others)]


def test_rows_that_were_deleted_cost_no_question(database, opened, unique, monkeypatch) -> None:
    rows = [row("one of many")] * 50
    for number in range(3):
        incident = added(database, opened, f"{unique}-{number}", *rows)
        if number == 1:
            with database.writing() as session:
                session.execute(delete(Evidence).where(Evidence.incident_id == incident))
    spans = []
    look = search.find_evidence
    monkeypatch.setattr(search, "find_evidence", lambda *a: spans.append(a[-1]) or look(*a))
    monkeypatch.setattr(search, "SPAN", 10)
    monkeypatch.setattr(service, "SECONDS", 600.0)
    with database.reading() as session:
        assert walked(session, "stands nowhere").rest == 0
        held = set(session.scalars(select(Evidence.id)))
        assert session.scalar(select(func.max(Evidence.id))) == spans[0]
    assert held.issuperset(spans)
