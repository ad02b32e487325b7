"""A revision keeps one form of its answer; the others are derived to the byte, also of old rows."""

from pathlib import Path

import orjson
import pytest
from sqlalchemy import MetaData, Table, select

import triage
from tests.store.conftest import NOW
from triage.domain.answer_wire import answer_from_bytes, answer_to_bytes
from triage.domain.report import Answer, JobFacts, Moment
from triage.domain.wire import format_iso_utc
from triage.errors import Unavailable
from triage.render.data import wire
from triage.store.database.engine import Database
from triage.store.database.migrate import migrate
from triage.store.incidents import revisions

INCIDENTS = sorted((Path(__file__).parents[1] / "incidents").glob("*-w*"))
INCIDENT = "inc_old"


@pytest.fixture(scope="module")
def answers() -> list[Answer]:
    """Of whole incidents, and one with text that no JSON holds and a number past 64 bits."""
    found = [triage.analyze(folder).answer for folder in INCIDENTS]
    odd = Moment(NOW, "n\ud800", 1 << 70, "stop", None, "a \udfff\x1b\u202e\x00")
    notes = triage.analyze(INCIDENTS[0]).answer.coverage
    return [*found, Answer(JobFacts("j\ud800"), found[0].verdict, coverage=notes, timeline=(odd,))]


def stored_by_0_1_0(answer: Answer) -> dict[str, object]:
    """The columns that revision 0007 has of an answer, as 0.1.0 filled them."""
    rows = [
        {
            "at": format_iso_utc(one.at),
            "node": one.node,
            "rank": one.rank,
            "kind": one.kind,
            "category": None if one.category is None else str(one.category),
            "text": one.text,
        }
        for one in answer.timeline
    ]
    lines = b"[" + b",".join(wire.encode_line(row).rstrip() for row in rows) + b"]"
    return {
        "report": wire.render(answer).decode(),
        "timeline": orjson.dumps(orjson.loads(lines)).decode(),
        "answer": answer_to_bytes(answer),
    }


def old_database(empty: Database, rows: list[dict[str, object]]) -> None:
    """A database at revision 0007 with one incident and these answers."""
    migrate(empty, "0007")
    times = dict.fromkeys(("created_at", "updated_at", "deadline_at", "settle_at"), NOW)
    counts = {"num_artifacts": 0, "inputs": 0, "answered_inputs": -1, "analyse_s": 0.0}
    incident = {"id": INCIDENT, "job_fk": 1, "key": "k", "announced": True, "facts": "{}"}
    incident |= {"state": "ready", "revision": 0, "provisional": True, **counts, **times}
    job = {"id": 1, "cluster_id": 1, "job_id": "4711", "last_turn": 0, "created_at": NOW}
    with empty.writing() as session:
        connection = session.connection()
        for name, row in (("cluster", {"id": 1, "name": ""}), ("job", job), ("incident", incident)):
            connection.execute(old_table(connection, name).insert().values(**row))
        table = old_table(connection, "revision")
        for number, row in enumerate(rows, start=1):
            fixed = {"incident_id": INCIDENT, "revision": number, "provisional": False}
            session.execute(table.insert().values(**fixed, **row, created_at=NOW))


def old_table(connection, name: str) -> Table:
    """A table as it is at the database's revision, whatever today's models say."""
    return Table(name, MetaData(), autoload_with=connection)


def test_what_is_derived_is_what_was_stored(empty, answers):
    rows = [stored_by_0_1_0(answer) for answer in answers]
    old_database(empty, rows)

    migrate(empty)

    with empty.reading() as session:
        for number, row in enumerate(rows, start=1):
            found = revisions.find_revision(session, INCIDENT, number)
            assert found.answer == row["answer"]
            assert wire.render(found.reported()).decode() == row["report"]
            assert wire.report(found.reported()) == orjson.loads(row["report"])
            assert orjson.dumps(wire.list_moments(found.reported())).decode() == row["timeline"]


def test_back_again_the_columns_are_filled_from_the_answer(empty, answers):
    rows = [stored_by_0_1_0(answer) for answer in answers]
    old_database(empty, rows)

    migrate(empty)
    migrate(empty, "0007")

    with empty.reading() as session:
        table = old_table(session.connection(), "revision")
        assert all(not column.nullable for column in table.columns)
        found = session.execute(select(table).order_by(table.c.revision)).mappings()
        kept = [{name: one[name] for name in ("report", "timeline", "answer")} for one in found]
    assert kept == rows


def test_an_answer_that_cannot_be_unpacked_is_rebuilt_from_its_report(empty, answers):
    row = stored_by_0_1_0(answers[0])
    nothing = {"report": "x", "timeline": "[]", "answer": b"\x00\xff"}
    old_database(empty, [{**row, "answer": row["answer"][:-9]}, nothing])

    migrate(empty)

    with empty.reading() as session:
        rebuilt = revisions.find_revision(session, INCIDENT, 1)
        assert wire.render(rebuilt.reported()).decode() == row["report"]
        lost = revisions.find_revision(session, INCIDENT, 2)
        with pytest.raises(Unavailable, match=r"revision 2 of inc_old cannot be read") as caught:
            lost.reported()
    assert "backup" in caught.value.hint

    migrate(empty, "0007")
    with empty.reading() as session:
        table = old_table(session.connection(), "revision")
        report = session.scalar(select(table.c.report).where(table.c.revision == 2))
    assert orjson.loads(report)["verdict"]["summary"] == "There is no verdict yet."


def test_what_only_pictures_need_is_left_out_on_request(answers):
    for answer in answers[:-1]:
        packed = answer_to_bytes(answer)
        whole, reported = answer_from_bytes(packed), answer_from_bytes(packed, pictures=False)
        assert whole == answer
        assert (reported.ranks, reported.waits.nodes, reported.waits.edges) == ((), (), ())
        assert reported.to_dict() == whole.to_dict()
