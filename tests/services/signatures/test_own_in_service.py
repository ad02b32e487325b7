"""Own signatures in the service, and what is read with them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.services.whole_jobs import body_of, tar_of
from tests.support.work import do_all
from triage.domain.failure_match import Failure
from triage.domain.states import WorkKind
from triage.errors import UsageError
from triage.sandbox.pool import Readers, Sandbox
from triage.server.context import open_context
from triage.services.context import Context
from triage.services.incidents.announce import announce
from triage.services.incidents.resolve import retry
from triage.services.signatures.in_force import label_in_force
from triage.services.uploads.ingest import take_bundle
from triage.services.uploads.received import Target
from triage.store.incidents import incidents
from triage.store.uploads import evidence

OWN = b"""\
[[signature]]
name = "riser_alarm"
pattern = 'bmc-relay: riser (?P<device>\\w+) of (?P<node>[\\w.-]+) reports over-current'
category = "io_board"
matches = ["bmc-relay: riser B2 of gpu-0417 reports over-current (12.9 A)"]
near_misses = ["bmc-relay: riser B2 of gpu-0417 reports normal current (7.1 A)"]
"""
LINE = "2026-11-21T03:14:15Z {node} kernel: {text}\n"
RISER = "bmc-relay: riser B2 of {node} reports over-current (12.9 A)"
LOST = "NVRM: Xid (PCI:0000:5d:00): 79, pid=4711, GPU has fallen off the bus."
CHATTER = "usb 1-1: new high-speed device"


def of_files(ctx: Context, readers: Readers, job_id: str, files: Mapping[str, bytes]) -> str:
    """The settled incident of these files."""
    opened = announce(ctx, Failure(job_id, "a", expected_artifacts=len(files)))
    take_bundle(ctx, Target(job_id, incident=opened.id), body_of(tar_of(dict(files))), None)
    do_all(ctx, readers, WorkKind.PARSE, WorkKind.ANALYSE)
    return opened.id


def incident(ctx: Context, readers: Readers, node: str, *texts: str) -> str:
    """The settled incident of a kernel log of these lines."""
    log = "".join(LINE.format(node=node, text=one.format(node=node)) for one in texts)
    return of_files(ctx, readers, f"job-{node}", {f"nodes/{node}/kernel.log": log.encode()})


def signatures_of(ctx: Context, incident_id: str) -> list[str]:
    """Those of the answer's rows, without what the trained reader makes of other lines."""
    with ctx.database.reading() as session:
        rows = [row for _, row in evidence.list_by_incident(session, incident_id)]
    return [row["signature"] for row in rows if row["signature"] != "learned"]


def with_own(ctx: Context, path: Path | str) -> Context:
    """A service whose settings name these signatures."""
    return replace(ctx, settings=ctx.settings.model_copy(update={"signatures": str(path)}))


@pytest.fixture
def own(ctx: Context, tmp_path: Path) -> Context:
    """A service with own signatures."""
    path = tmp_path / "board.toml"
    path.write_bytes(OWN)
    return with_own(ctx, path)


def test_they_count_for_what_is_read_with_them(
    ctx: Context, own: Context, readers: Readers
) -> None:
    first = incident(own, readers, "n2", RISER)
    second = incident(ctx, readers, "n3", RISER)
    assert [signatures_of(ctx, one) for one in (first, second)] == [["local.riser_alarm"], []]
    with ctx.database.reading() as session:
        (view,) = [one for one in incidents.list_incidents(session) if one.id == first]
    assert view.verdict["cordon"] == ["n2"]


def notes_of(ctx: Context, incident_id: str) -> list[str]:
    with ctx.database.reading() as session:
        view = incidents.find(session, incident_id)
    assert view is not None
    return [one for one in view.coverage["notes"] if "own signatures" in one]


def test_an_answer_says_which_set_read_its_logs_and_that_another_is_in_force(
    ctx: Context, own: Context, readers: Readers
) -> None:
    label = label_in_force(own.settings.signatures)
    one = incident(own, readers, "n1", RISER)
    assert label.endswith("(board.toml)")
    assert notes_of(ctx, one) == [f"own signatures took part: {label}"]

    late = {"nodes/n2/kernel.log": LINE.format(node="n2", text=CHATTER).encode()}
    take_bundle(ctx, Target("job-n1", incident=one), body_of(tar_of(late)), None)
    do_all(ctx, readers, WorkKind.PARSE, WorkKind.ANALYSE)
    other, took_part = notes_of(ctx, one)
    assert took_part == f"own signatures took part: {label}"
    assert other.startswith("1 log was read with other own signatures than those in force (none):")

    assert retry(ctx, one, all_logs=True).num_files == 2
    do_all(ctx, readers, WorkKind.PARSE, WorkKind.ANALYSE)
    assert notes_of(ctx, one) == []
    assert signatures_of(ctx, one) == []


def test_a_faulty_file_stops_the_start(ctx: Context, tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_bytes(b"[[signature]]\n")
    with pytest.raises(UsageError, match=r"broken\.toml:1: name is missing"):
        open_context(with_own(ctx, broken).settings)


def test_a_confined_reader_reads_with_the_set_of_each_request(ctx: Context, own: Context) -> None:
    with Sandbox() as sandbox:
        with_set = incident(own, sandbox, "n1", RISER, LOST)
        without = incident(ctx, sandbox, "n2", RISER, LOST)
    assert signatures_of(ctx, with_set) == ["local.riser_alarm", "nvidia.xid"]
    assert signatures_of(ctx, without) == ["nvidia.xid"]
