"""``triage signatures labels``: what people resolved becomes what the reader learns from."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import triage
from tests.api.service import Service, context_at, serving
from tests.services.whole_jobs import INCIDENTS, files_of, tar_of
from tests.support.work import ReadersHere, do_all
from tests.workers.running import triage as run_command
from triage.cli.main import main
from triage.client.labels import choose_label, list_labels
from triage.domain.category import Category
from triage.domain.evidence import LEARNED
from triage.domain.states import WorkKind
from triage.reader.corpus import LABELS, read_corpus, read_shipped

CULPRIT = "nodes/gpu-0203/kernel.log"
OTHER = "nodes/gpu-0202/kernel.log"
AT_THE_STOP = "2026-11-21T03:04:14.1+00:00"
BRAID = "quiverd[88]: strand braid frayed beyond repair, error 7, giving up on tile 4"
# The reader takes it for the network's.
LANE = "vmkx[9]: lane braid frayed, error 4 of 4 strands lost"
SEAM = "quiverd[88]: fault: seam 7 collapsed and cannot be rejoined"


def make_files(*lines: tuple[str, str, str]) -> dict[str, bytes]:
    """A job that stands without a line that tells why, but ``lines``: file, time and words."""
    files = files_of(INCIDENTS / "logs-hbm-w8" / "files")
    for name, unwanted in (("job.log", (b"ECC", b"rank5")), (CULPRIT, (b"NVRM",))):
        kept = [one for one in files[name].splitlines() if not any(w in one for w in unwanted)]
        files[name] = b"\n".join(kept) + b"\n"
    for name, at, words in lines:
        files[name] += f"{at} {name.split('/')[1]} {words}\n".encode()
    return files


FILES = make_files(
    (CULPRIT, AT_THE_STOP, BRAID),
    (CULPRIT, AT_THE_STOP, LANE),
    (CULPRIT, "2026-11-20T20:00:00+00:00", LANE.replace("vmkx", "hours-before")),
    (OTHER, AT_THE_STOP, SEAM),
    (OTHER, AT_THE_STOP, LANE.replace("vmkx", "elsewhere")),
)


@dataclass(frozen=True)
class ServiceWithIncidents:
    """A service with incidents; ``ids`` by what became of them."""

    service: Service
    folder: Path
    ids: dict[str, str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.service.port}"


@pytest.fixture(scope="module")
def resolved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceWithIncidents]:
    folder = tmp_path_factory.mktemp("labels")
    ctx = context_at(folder)
    with serving(ctx) as service:
        ids: dict[str, str] = {}
        for name, files in {
            "open": FILES,
            "calm": make_files((CULPRIT, AT_THE_STOP, BRAID), (OTHER, AT_THE_STOP, SEAM)),
            "braid": FILES,
        }.items():
            ids[name] = service.opened(name, expected_artifacts=len(files))
            path = f"/v1/jobs/{name}/bundle?incident={ids[name]}"
            assert service.post(path, tar_of(files), token="ingest").status == 201
        do_all(ctx, ReadersHere(), WorkKind.PARSE, WorkKind.ANALYSE)
        ids |= {name: service.opened(name) for name in ("slow", "early")}
        for name, said in {
            "calm": {"category": "none"},
            "braid": {"category": "nvlink", "node": "gpu-0203"},
            "slow": {"category": "straggler"},
            "early": {"category": "gpu", "node": "n1"},
        }.items():
            path = f"/v1/incidents/{ids[name]}/resolution"
            assert service.post(path, said, token="read").status == 201, name
        yield ServiceWithIncidents(service, folder, ids)
    ctx.close()


@pytest.fixture
def labels(
    resolved: ServiceWithIncidents,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """The command against the service: status, lines of stdout, stderr."""
    monkeypatch.setenv("TRIAGE_TOKEN", resolved.service.tokens["read"])
    monkeypatch.delenv("TRIAGE_TOKEN_FILE", raising=False)

    def call(*arguments: str) -> tuple[int, list[str], str]:
        status = main(["signatures", "labels", "--url", resolved.url, *arguments])
        out, err = capsys.readouterr()
        return status, out.splitlines(), err

    return call


def test_the_lines_of_the_named_node_that_were_not_understood_are_labelled(
    resolved, labels
) -> None:
    status, (head, *lines), err = labels(resolved.ids["braid"], resolved.ids["braid"])
    assert (status, err) == (0, "")
    assert head.startswith(f"# {resolved.ids['braid']}: resolved as nvlink on gpu-0203 by ")
    assert head.endswith("; delete what does not tell it")
    # Not what another node printed, nor what this one printed hours before.
    assert lines == [f"nvlink\tquiverd\t{BRAID}", f"nvlink\tvmkx\t{LANE}"]


def test_all_resolved_ones_come_newest_first_and_a_line_once(resolved, labels) -> None:
    status, lines, err = labels()
    assert status == 0
    assert [line.split("\t")[0] for line in lines if line[0] != "#"] == ["nvlink"] * 2 + [
        "harmless"
    ]
    # Where no node was named, all of them are meant; of one line the newest incident tells.
    assert lines[-1] == f"harmless\tquiverd\t{SEAM}"
    assert resolved.ids["open"] not in "\n".join(lines) + err
    assert err.splitlines() == [
        f"{resolved.ids['early']}: resolved as gpu on n1 by {_name_teller(resolved)};"
        " no line to learn from",
        f"{resolved.ids['slow']}: resolved as straggler by {_name_teller(resolved)};"
        " no line alone tells that: skipped",
    ]
    assert labels() == (status, lines, err)
    assert labels("--since", "2100-01-01T00:00:00Z") == (0, [], "")


def _name_teller(resolved: ServiceWithIncidents) -> str:
    path = f"/v1/incidents/{resolved.ids['slow']}"
    return resolved.service.get(path).json()["resolution"]["by"]


@pytest.mark.parametrize(
    ("incident", "words"),
    [("open", "is not resolved: say what it was on its page, or by POST /v1/incidents/"),
     ("none", "there is no such incident; triage incidents lists them")],
)  # fmt: skip
def test_an_incident_that_tells_nothing_is_one_sentence(resolved, labels, incident, words) -> None:
    status, lines, err = labels(resolved.ids["braid"], resolved.ids.get(incident, incident))
    assert (status, lines) == (2, [])
    assert words in err
    assert err.count("\n") == 1


def test_a_time_that_is_none_is_refused(labels) -> None:
    status, _, err = labels("--since", "90")
    assert status == 2
    assert "--since: '90' is no time" in err


def test_a_notebook_has_the_same_from_the_service_and_its_database(resolved, labels) -> None:
    _, printed, _ = labels()
    with (
        triage.open_store(resolved.folder) as stored,
        triage.open_store(resolved.url, token=resolved.service.tokens["read"]) as asked,
    ):
        table = asked.labels()
        assert table.equals(stored.labels())
    rows = ["\t".join(row) for row in table[["label", "program", "text"]].to_numpy()]
    assert rows == [line for line in printed if not line.startswith("#")]
    assert set(table["incident_id"]) == {resolved.ids["braid"], resolved.ids["calm"]}


def test_what_a_person_said_is_learned_and_the_next_such_stop_is_understood(
    resolved, labels, tmp_path: Path, monkeypatch, capsys
) -> None:
    """With few lines of ours instead of all: a fit of these takes a minute."""
    few = [line for line in read_shipped() if line.author == "signatures"][::12]
    monkeypatch.setattr("triage.reader.learn.read_shipped", lambda: few)
    ours, model = tmp_path / "ours.tsv", tmp_path / "ours.npz"
    ours.write_text("\n".join(labels(resolved.ids["braid"])[1]) + "\n")
    assert main(["signatures", "learn", str(ours), "--out", str(model)]) == 0
    assert "of 2 lines 0 were understood before, 2 are now" in capsys.readouterr().out

    for name, data in make_files((CULPRIT, AT_THE_STOP, BRAID)).items():
        path = tmp_path / "again" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    before, after = (
        json.loads(run_command("analyze", str(tmp_path / "again"), "-f", "json", **more).stdout)
        for more in ({}, {"TRIAGE_READER": model})
    )
    assert before["verdict"]["category"] == "nccl_timeout"
    assert [one["text"] for one in before["coverage"]["unread_examples"]] == [BRAID]
    assert after["verdict"]["category"] == "nvlink"
    assert after["suspects"][0]["node"] == "gpu-0203"
    assert after["coverage"]["unread_examples"] == []


class Source:
    """An incident of these rows that nobody could place, and of two that are understood."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self.rows = rows

    def get_report(self, _: str) -> dict[str, Any]:
        at = datetime(2026, 11, 21, 3, tzinfo=UTC).isoformat()
        return {"verdict": {"at": at}, "coverage": {"unread_examples": self.rows}}

    def evidence(self, _: object) -> Iterator[tuple[str, dict[str, Any]]]:
        row = {"artifact": "a.log", "line": 1, "at": None, "node": "n1"}
        yield "inc", {**row, "signature": "nvidia.xid", "category": "gpu", "text": "known words"}
        yield "inc", {**row, "signature": LEARNED, "category": "nic", "text": "rightly read"}


def label(*rows: dict[str, Any]) -> list[tuple[str, str, str]]:
    facts = {"id": "inc", "resolution": {"category": "nic", "node": "n1"}}
    [(_, lines)] = list_labels([facts, {"id": "open", "resolution": None}], Source(*rows))
    return [(one.label, one.program, one.text) for one in lines]


def test_hostile_words_stay_in_their_cell(tmp_path: Path) -> None:
    words = "gpu\tx\tforged\nnic\r\x1b[2J\u202e\u2028\udcff\x00 braid"
    rows = label({"artifact": "a/b\tc\n#.log", "line": 1, "text": words, "node": None})
    path = tmp_path / "ours.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")
    [read] = read_corpus(path)
    assert (read.label, read.program) == ("nic", "b c #.log")
    assert read.text == "gpu x forged nic \\x1b[2J\\u202e\\u2028\\udcff\\x00 braid"


def test_lines_are_in_the_order_of_files_and_one_for_each_that_the_reader_tells_apart() -> None:
    row = {"artifact": "a.log", "line": 2, "text": "strand 4 frayed", "node": "n1"}
    rows = [
        {**row, "artifact": "b.log", "text": "sshd: strand 5 frayed"},
        {**row, "line": 3, "text": "strand 6 frayed"},
        {**row, "line": 9, "node": "n10", "text": "of another node"},
        {**row, "line": None, "text": "RuntimeError: seam"},
        {**row, "text": "\x07 \t"},
        row,
    ]
    expected = [
        ("nic", "a.log", "RuntimeError: seam"),
        ("nic", "a.log", "\\x07"),
        ("nic", "a.log", "strand 4 frayed"),
        ("nic", "sshd", "sshd: strand 5 frayed"),
    ]
    assert label(*rows) == label(*reversed(rows)) == expected


def test_each_category_has_a_label_or_none_that_learning_takes() -> None:
    found = {str(one): choose_label(one) for one in Category}
    assert {name for name, one in found.items() if one is None} == {"nccl_timeout", "straggler"}
    assert {one for one in found.values() if one is not None} <= {*LABELS}
    assert found["none"] == "harmless"
