"""Dumps of PyTorch's recorder hook, in each form that it gives them, made of simulated jobs."""

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator import simulate
from tests.analysis.by_hand import answer, convicted, named
from triage.domain.report import Answer

Dump = dict[str, Any]
Form = Callable[[Dump], None]
JOB: dict[str, Any] = {"ranks": 8, "tp": 2, "pp": 2, "seed": 7, "entries": 1000, "frames": 0}


def rename(dump: Dump, backend: str) -> None:
    for entry in dump["entries"]:
        entry["profiling_name"] = entry["profiling_name"].replace("nccl:", f"{backend}:")


def count_from_zero(dump: Dump) -> None:
    """The numbers of the dispatcher, in entries and counters."""
    last: dict[str, int] = {}
    for entry in dump["entries"]:
        entry["op_id"] = max(entry["collective_seq_id"] - 1, 0)
        last[str(entry["pg_id"])] = entry["op_id"]
    for key, row in dump["pg_status"].items():
        row["last_started_collective"] = -1
        for what in ("enqueued", "completed"):
            row[f"last_{what}_collective"] = last.get(key, -1)


def pushed(dump: Dump) -> None:
    """A backend that tells the hook what completed: nothing ever reads started."""
    rename(dump, "nccl2")
    count_from_zero(dump)
    for entry in dump["entries"]:
        entry["time_discovered_started_ns"] = None
        if entry["state"] == "started":
            entry["state"] = "scheduled"


def numbered_ahead(dump: Dump) -> None:
    """More goes through the dispatcher than is recorded: sends, and what a graph captures."""
    pushed(dump)
    issued: dict[str, int] = {}
    ended: dict[str, int] = {}
    for entry in dump["entries"]:
        key = str(entry["pg_id"])
        issued.setdefault(key, entry["collective_seq_id"] + entry["p2p_seq_id"] + 7)
        issued[key] += 1
        entry["op_id"] = issued[key]
        if entry["state"] == "completed":
            ended[key] = entry["op_id"]
    for key, row in dump["pg_status"].items():
        row["last_enqueued_collective"] = issued.get(key, -1)
        row["last_completed_collective"] = ended.get(key, -1)


def retired_at_issue(dump: Dump) -> None:
    rename(dump, "c10d")
    count_from_zero(dump)
    for entry in dump["entries"]:
        entry |= {
            "state": "scheduled",
            "retired": True,
            "time_discovered_started_ns": None,
            "time_discovered_completed_ns": None,
        }
        entry.pop("duration_ms", None)


def without_table(dump: Dump) -> None:
    pushed(dump)
    dump["pg_config"] = {}


def from_any_source(dump: Dump) -> None:
    pushed(dump)
    for entry in dump["entries"]:
        entry["profiling_name"] = re.sub(r"<-\d+", "<-?", entry["profiling_name"])


def gloo_alone(dump: Dump) -> None:
    """Gloo's own entries: no events, retired when they ended, a group without a name."""
    rename(dump, "gloo")
    kept = [entry for entry in dump["entries"] if not entry["is_p2p"]]
    dump["entries"] = [entry for entry in kept if "coalesced" not in entry["profiling_name"]]
    for number, entry in enumerate(dump["entries"]):
        entry |= {
            "record_id": number,
            "retired": entry["state"] == "completed",
            "state": "scheduled",
            "time_discovered_started_ns": None,
            "time_discovered_completed_ns": None,
            "process_group": ("", ""),
        }
        entry.pop("duration_ms", None)


def both_in_one(dump: Dump) -> None:
    """Each operation twice: as dispatched, and as gloo did it."""
    gloo_alone(dump)
    names = {str(number): row for number, row in enumerate(dump["pg_config"].values())}
    entries = []
    for entry in dump["entries"]:
        row = names[str(entry["pg_id"])]
        op = entry["profiling_name"].partition(":")[2].replace("_", "")
        hook = {
            **entry,
            "profiling_name": f"c10d:{op}",
            "process_group": (row["name"], row["desc"]),
            "op_id": entry["collective_seq_id"] - 1,
            "output_sizes": [],
            "output_dtypes": [],
            "retired": True,
        }
        entries += [hook, entry]
    for number, entry in enumerate(entries):
        entry["record_id"] = number
    dump["entries"] = entries
    dump["pg_config"][""] = {"name": "", "desc": "", "ranks": "[0, 1, 2, 3]"}


def numbered_in_groups(dump: Dump) -> None:
    """As recorded: the inner groups list ranks within the group."""
    both_in_one(dump)
    for row in dump["pg_config"].values():
        if row["desc"] not in ("", "default_pg"):
            count = len(re.findall(r"\d+", row["ranks"]))
            row["ranks"] = str(list(range(count)))


def keep(dump: Dump, backend: str) -> None:
    """Of two recorders one: its entries have gaps where the other's stood."""
    entries = dump["entries"]
    dump["entries"] = [one for one in entries if one["profiling_name"].startswith(f"{backend}:")]


def hook_alone(dump: Dump) -> None:
    both_in_one(dump)
    keep(dump, "c10d")


def gloo_in_groups(dump: Dump) -> None:
    """Gloo's entries without a name, of inner groups whose lists count from 0."""
    numbered_in_groups(dump)
    keep(dump, "gloo")


FORMS = {
    "completion pushed": pushed,
    "numbered ahead": numbered_ahead,
    "retired at issue": retired_at_issue,
    "no group table": without_table,
    "from any source": from_any_source,
    "gloo alone": gloo_alone,
    "both in one": both_in_one,
    "numbered in groups": numbered_in_groups,
    "hook alone": hook_alone,
    "gloo in groups": gloo_in_groups,
}
# In these nothing but who issued what is recorded.
ISSUES_ALONE = {"retired at issue", "hook alone"}


def said_of(tmp_path: Path, kind: str, form: str, **wishes: Any) -> Answer:
    folder = tmp_path / "job"
    # Gloo records no send or receive, so that a pipeline would hide who waits for whom.
    pipeline = (
        {}
        if FORMS[form] in (pushed, numbered_ahead, retired_at_issue, without_table, from_any_source)
        else {"pp": 1}
    )
    simulate(kind, folder, **{**JOB, **pipeline, **wishes})
    for path in sorted((folder / "fr").iterdir()):
        dump = pickle.loads(path.read_bytes())
        FORMS[form](dump)
        (tmp_path / path.name).write_bytes(pickle.dumps(dump, protocol=2))
        path.unlink()
    for path in [*folder.glob("**/*"), *tmp_path.glob("*truth.json")]:
        if path.is_file():
            path.unlink()
    return answer(tmp_path)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("culprit", [0, 3, 6])
def test_a_host_that_stalled_is_named(form: str, culprit: int, tmp_path: Path) -> None:
    said = said_of(tmp_path, "host-stall", form, culprit=culprit)
    assert said.verdict.kind in ("hang", "desync")
    assert convicted(said) <= {culprit}
    assert named(said)[:1] == [culprit]


@pytest.mark.parametrize("form", FORMS)
def test_a_job_that_is_well_accuses_nobody(form: str, tmp_path: Path) -> None:
    said = said_of(tmp_path, "healthy", form)
    assert not convicted(said)
    assert said.verdict.kind in ("healthy", "inconclusive")
    assert said.verdict.kind == "inconclusive" or form not in ISSUES_ALONE


@pytest.mark.parametrize("form", FORMS)
def test_a_device_that_stalled_is_never_called_well(form: str, tmp_path: Path) -> None:
    said = said_of(tmp_path, "device-stall", form, culprit=5)
    assert said.verdict.kind != "healthy"
    assert convicted(said) <= {5}
    if form in ISSUES_ALONE:
        assert "every operation is done" not in said.verdict.summary
