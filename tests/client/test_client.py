"""The client against a running service: from a failure told to the answer, and what is refused."""

import json
import tarfile
from datetime import UTC, datetime, timedelta

import pytest

import triage
from tests.client.conftest import JOB
from tests.services.whole_jobs import GPU_LOST
from triage.client.incident import NODE_ERRORS, NODE_INCIDENTS
from triage.domain.counts import format_ordinal
from triage.errors import (
    Conflict,
    NotFound,
    NotYet,
    Refusal,
    TriageError,
    Unavailable,
    Unprocessable,
    UsageError,
)
from triage.render.data import frames
from triage.render.data.tables import ARTIFACTS, EVIDENCE, INCIDENTS, PROBLEMS, SENT
from triage.render.page import html
from triage.render.terminal import text


@pytest.fixture(scope="module")
def local():
    return triage.analyze(GPU_LOST)


def test_the_answer_is_that_of_analyze(lost, local):
    assert lost.state == "ready"
    assert lost.verdict.to_dict() == local.verdict.to_dict()
    assert list(lost.suspects["node"]) == list(local.suspects["node"])
    assert lost.to_dict()["verdict"] == local.to_dict()["verdict"]


def test_its_report_is_whole(lost, local):
    """States of ranks and the graph come along, so that the pictures are the same."""
    assert lost.report.ranks["state"].tolist() == local.ranks["state"].tolist()
    assert [one.key for one in lost.report.answer.waits.nodes] == [
        one.key for one in local.answer.waits.nodes
    ]
    assert text.render(lost.report.answer).count("\n") > 20


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("suspects", frames.SUSPECTS), ("evidence", EVIDENCE), ("ranks", frames.RANKS),
        ("collectives", frames.COLLECTIVES), ("timeline", frames.TIMELINE),
        ("artifacts", ARTIFACTS), ("coverage", frames.COVERAGE),
    ],
)  # fmt: skip
def test_a_table_is_what_is_written_down(name, columns, lost):
    made = getattr(lost, name)
    assert {c: str(t) for c, t in made.dtypes.items()} == dict(columns)
    assert len(made) > 0


def test_evidence_is_that_of_the_files(lost, local):
    keys = ["artifact", "line", "signature", "at"]
    mine, theirs = (
        {tuple(map(str, row)) for row in rows[keys].itertuples(index=False)}
        for rows in (lost.evidence, local.evidence)
    )
    assert mine == theirs


def test_a_table_can_be_changed_without_harm(lost):
    changed = lost.evidence
    changed["node"] = "changed"
    assert "changed" not in set(lost.evidence["node"])


def test_it_shows_itself(lost):
    markup = lost._repr_html_()
    assert f"Incident {lost.id} of job {JOB['job_id']}, ready" in markup
    assert "<script" not in markup
    assert html.render_fragment(lost.report.answer)[-400:] in markup
    assert repr(lost).startswith(f"<Incident {lost.id} of job")


def test_the_page_is_below_the_address(lost, address):
    assert lost.url == f"{address}/incidents/{lost.id}"


def test_what_was_sent_again_changes_nothing(client, lost):
    again = client.upload(GPU_LOST, incident=lost)
    assert set(again.sent["status"]) == {200}
    assert dict(again.sent.dtypes.astype(str)) == dict(SENT)
    assert client.wait(lost.id, timeout_s=300).revision == lost.revision


def test_incidents_are_listed_and_filtered(client, lost):
    every = client.incidents()
    assert {c: str(t) for c, t in every.dtypes.items()} == dict(INCIDENTS)
    row = every.set_index("id").loc[lost.id]
    assert (row["job_id"], row["category"], row["state"]) == (JOB["job_id"], "gpu", "ready")
    assert row["summary"] == lost.verdict.summary
    assert list(client.incidents(job_id=JOB["job_id"])["id"]) == [lost.id]
    assert list(client.incidents(node=lost.suspects["node"][0], category="gpu")["id"]) == [lost.id]
    assert len(client.incidents(category="nic")) == 0
    assert len(client.incidents(cluster="elsewhere")) == 0
    assert len(client.incidents(since=datetime.now(UTC) + timedelta(hours=1))) == 0
    assert len(client.incidents(since=datetime.now(UTC) - timedelta(hours=1))) >= 1


def test_a_list_goes_over_all_pages(client, monkeypatch):
    ids = [client.job_failed({"job_id": f"many-{number}"}).id for number in range(7)]
    asked = []
    get = client._transport.get

    def paged(path, query=None, **more):
        asked.append(query.get("cursor"))
        return get(path, {**query, "limit": min(2, query["limit"])}, **more)

    monkeypatch.setattr(client._transport, "get", paged)
    assert set(ids) <= set(client.incidents()["id"])
    assert len(asked) >= 4
    assert len(set(asked)) == len(asked)
    asked.clear()
    assert len(client.incidents(limit=3)) == 3
    assert len(asked) == 2
    assert len(client.incidents(limit=0)) == 0


@pytest.mark.parametrize("suffix", ["tar", "tar.gz"])
def test_a_tar_goes_as_it_is(suffix, client, tmp_path):
    packed = tmp_path / f"job.{suffix}"
    with tarfile.open(packed, "w:gz" if suffix.endswith("gz") else "w") as tar:
        tar.add(GPU_LOST / "nodes", "nodes")
    sent = client.upload(packed, f"packed-{suffix}")
    assert set(sent.sent["status"]) == {201}
    assert sent.job_id == f"packed-{suffix}"
    assert set(sent.artifacts["node"]) >= {"gpu-0101", "gpu-0102"}


def test_one_file_is_of_the_node_that_is_named(client):
    sent = client.upload(
        GPU_LOST / "nodes" / "gpu-0101" / "kernel.log", "one/file", node="gpu-0101"
    )
    (row,) = sent.artifacts.to_dict("records")
    assert (row["node"], row["filename"], row["kind"]) == ("gpu-0101", "kernel.log", "kernel_log")
    assert sent.job_id == "one/file"


def test_a_refused_file_is_a_warning_and_stops_no_other(client, tmp_path):
    (tmp_path / "kernel.log").write_bytes((GPU_LOST / "nodes/gpu-0101/kernel.log").read_bytes())
    (tmp_path / "old.log.bz2").write_bytes(b"BZh91AY&SY" + bytes(range(256)))
    with pytest.warns(UserWarning, match=r"1 of 2 files were refused; .*old.log.bz2"):
        sent = client.upload(tmp_path, "refused", node="n0")
    status = dict(zip(sent.sent["member"], sent.sent["status"], strict=True))
    assert status["kernel.log"] == 201
    assert status["old.log.bz2"] >= 400


def test_an_incident_without_an_answer_has_empty_tables(client):
    opened = client.job_failed({"job_id": "waiting", "expected_artifacts": 5})
    assert opened.verdict is None
    for name in ("suspects", "evidence", "ranks", "collectives", "timeline", "artifacts"):
        assert len(getattr(opened, name)) == 0
    assert "no verdict yet" in opened._repr_html_()
    with pytest.raises(Conflict, match=r"no verdict yet \(GET .*wait_s=60 waits for it\)"):
        opened.to_dict()
    with pytest.raises(NotYet, match=r"is collecting after 0.2 s"):
        client.wait(opened.id, timeout_s=0.2)


def test_refresh_forgets_what_was_fetched(client):
    opened = client.job_failed({"job_id": "refreshed", "expected_artifacts": 1})
    assert len(opened.artifacts) == 0
    client.upload(GPU_LOST / "nodes/gpu-0101/kernel.log", incident=opened, node="gpu-0101")
    assert len(opened.artifacts) == 0
    assert opened.refresh() is opened
    assert len(opened.artifacts) == 1


def test_a_resolution_is_kept_and_replaced(client, lost):
    client.resolve(lost.id, "nic", note="first thought")
    kept = client.resolve(lost.id, "gpu", "gpu-0102", "GPU swapped")
    assert (kept["category"], kept["node"], kept["note"]) == ("gpu", "gpu-0102", "GPU swapped")
    assert lost.refresh().resolution["category"] == "gpu"
    assert "turned out to be gpu" in lost._repr_html_()


def test_a_node_has_its_history(client, lost):
    history = client.node("gpu-0102")
    assert lost.id in set(history.incidents["incident_id"])
    assert {c: str(t) for c, t in history.incidents.dtypes.items()} == dict(NODE_INCIDENTS)
    assert {c: str(t) for c, t in history.errors.dtypes.items()} == dict(NODE_ERRORS)
    assert len(history.errors) > 0
    assert history.summary.startswith("gpu-0102: culprit in ")
    assert lost.id in history._repr_html_()
    assert history.first_seen_at <= history.last_seen_at


def test_incidents_of_one_kind_are_one_problem(client, lost):
    twin = client.job_failed({**JOB, "job_id": "twin"})
    client.upload(GPU_LOST, incident=twin)
    twin = client.wait(twin.id, timeout_s=300)
    assert lost.refresh().problem["id"] == twin.problem["id"]
    assert twin.problem["nth"] == twin.problem["count"] > 1
    assert f"the {format_ordinal(twin.problem['nth'])} of its kind" in twin._repr_html_()
    found = client.problems(node="gpu-0102", since=lost.created_at)
    assert {c: str(t) for c, t in found.dtypes.items()} == dict(PROBLEMS)
    [row] = found[found["id"] == twin.problem["id"]].itertuples()
    assert (row.category, row.nodes, row.count) == ("gpu", ("gpu-0102",), twin.problem["count"])
    assert twin.id in set(client.incidents(problem=twin.problem["id"])["id"])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda c: c.incident("nowhere"), NotFound, r"there is no such incident \(GET /v1/inci"),
        (lambda c: c.incident("../../healthz"), NotFound, "no such|nothing"),
        (lambda c: c.incident(42), NotFound, "no such|nothing"),
        (lambda c: c.node("never-seen"), NotFound, "nothing has named this node yet"),
        (lambda c: c.incidents(state="gone"), Unprocessable, "query/state"),
        (lambda c: c.incidents(since="yesterday"), Unprocessable, "query/since"),
        (lambda c: c.job_failed({}), Unprocessable, "job_id"),
        (lambda c: c.job_failed({"job_id": object()}), UsageError, "cannot be sent as JSON"),
        (lambda c: c.upload("/nowhere/at/all", "x"), UsageError, "cannot read /nowhere/at/all"),
        (lambda c: c.upload(GPU_LOST), UsageError, "needs a job_id or an incident"),
        (lambda c: c.upload(GPU_LOST, "x", incident="nowhere"), NotFound, "no such|nothing"),
    ],
)
def test_what_cannot_be_says_what_to_do(call, error, words, client):
    with pytest.raises(error, match=words) as caught:
        call(client)
    assert isinstance(caught.value, TriageError)
    if isinstance(caught.value, Refusal):
        assert caught.value.detail
        assert caught.value.status == error.status


def test_an_empty_folder_is_refused_here(client, tmp_path):
    with pytest.raises(UsageError, match="holds no file"):
        client.upload(tmp_path, "empty")


def test_an_unknown_category_is_refused_with_its_place(client, lost):
    with pytest.raises(Unprocessable) as caught:
        client.resolve(lost.id, "gremlins")
    assert "category" in caught.value.places[0].where
    assert "category" in str(caught.value)


def test_nobody_there_is_said_with_the_next_step(monkeypatch):
    monkeypatch.setattr("triage.client.transport.PAUSE_S", 0.001)
    with pytest.raises(Unavailable, match=r"cannot reach http://127.0.0.1:9: .*triage serve"):
        triage.Client("http://127.0.0.1:9").incidents()


def test_a_session_ends_with_the_block(address):
    with triage.Client(f"{address}/") as client:
        assert client.url == address
        assert json.dumps(client.incident_rows(limit=1))
    with pytest.raises(RuntimeError):
        client.incidents()
