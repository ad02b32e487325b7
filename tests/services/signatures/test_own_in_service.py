"""Own signatures in the service: uploads, and what is read with them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.services.whole_jobs import body_of, tar_of
from tests.support.work import do_all
from triage.domain.failure_match import Failure
from triage.domain.states import WorkKind
from triage.errors import NotFound, Unprocessable, UsageError
from triage.sandbox.pool import Readers, Sandbox
from triage.server.context import open_context
from triage.services.context import Context
from triage.services.incidents.announce import announce
from triage.services.incidents.resolve import retry
from triage.services.signatures.in_force import (
    find_signatures_in_force,
    keep_file,
    label_in_force,
    remove_file,
)
from triage.services.uploads.ingest import take_bundle
from triage.services.uploads.received import Target
from triage.signatures.own.own_signatures import own_from_bytes
from triage.store.access import audit
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
OTHER = OWN.replace(b"riser", b"fan").replace(b"over-current", b"standstill")
SILENCE = b'[[silence]]\nsignatures = ["nvidia.xid:79"]\nreason = "we pull them by hand"\n'
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


def test_an_upload_counts_for_what_comes_after_it_and_no_longer_when_removed(
    ctx: Context, readers: Readers
) -> None:
    first = incident(ctx, readers, "n1", RISER)
    found = keep_file(ctx, "board", OWN, "key_1")
    assert (found.num_signatures, found.key_id) == (1, "key_1")
    second = incident(ctx, readers, "n2", RISER)
    remove_file(ctx, "board", "key_1")
    third = incident(ctx, readers, "n3", RISER)

    assert [signatures_of(ctx, one) for one in (first, second, third)] == [
        [], ["local.riser_alarm"], [],
    ]  # fmt: skip
    with ctx.database.reading() as session:
        (view,) = [one for one in incidents.list_incidents(session) if one.id == second]
        acts = [one.action for one in audit.list_acts(session, 50)]
    assert view.verdict["cordon"] == ["n2"]
    assert {"signatures.upload", "signatures.remove"} <= set(acts)


def notes_of(ctx: Context, incident_id: str) -> list[str]:
    with ctx.database.reading() as session:
        view = incidents.find(session, incident_id)
    assert view is not None
    return [one for one in view.coverage["notes"] if "own signatures" in one]


def test_an_answer_says_which_set_read_its_logs_and_that_another_is_in_force(
    ctx: Context, readers: Readers
) -> None:
    keep_file(ctx, "board", OWN, "key_1")
    label = label_in_force(ctx)
    one = incident(ctx, readers, "n1", RISER)
    assert label.endswith("(uploaded/board)")
    assert notes_of(ctx, one) == [f"own signatures took part: {label}"]

    keep_file(ctx, "board", b"# moved down\n" + OWN, "key_1")
    assert label_in_force(ctx) == label
    remove_file(ctx, "board", "key_1")
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


def test_a_file_replaces_that_of_its_name_and_both_names_stand_beside_each_other(
    ctx: Context,
) -> None:
    first = keep_file(ctx, "a", OWN, "local")
    keep_file(ctx, "b", OTHER, "local")
    again = keep_file(ctx, "a", OWN + b"# more\n", "local")
    assert again.created_at == first.created_at
    assert again.sha256 != first.sha256
    own = own_from_bytes(find_signatures_in_force(ctx))
    assert [one.id for one in own.entries] == ["local.riser_alarm", "local.fan_alarm"]


@pytest.mark.parametrize("body", [b"", b"[[signature]]\n", b"\xff\xfe", b"x" * 300_000])
def test_a_faulty_file_leaves_what_was_there(ctx: Context, body: bytes) -> None:
    keep_file(ctx, "a", OWN, "local")
    before = find_signatures_in_force(ctx)
    with pytest.raises(Unprocessable):
        keep_file(ctx, "a", body, "local")
    assert find_signatures_in_force(ctx) == before


def test_every_fault_is_a_place_with_its_line(ctx: Context) -> None:
    with pytest.raises(Unprocessable) as raised:
        keep_file(ctx, "a", OWN.replace(b'"io_board"', b'"riser"') + b"colour = 1\n", "local")
    assert [one.where for one in raised.value.places] == ["body/4", "body/7"]


def test_a_name_that_another_file_has_is_refused(ctx: Context) -> None:
    keep_file(ctx, "a", OWN, "local")
    with pytest.raises(Unprocessable) as raised:
        keep_file(ctx, "b", OWN, "local")
    said = [one.message for one in raised.value.places]
    assert any("was given before: uploaded/a:1" in one for one in said)


@pytest.mark.parametrize("name", ["dry-run", "", "A", "a/b", "x" * 61, "é", "a\n"])
def test_a_name_that_is_none_is_refused(ctx: Context, name: str) -> None:
    with pytest.raises(Unprocessable):
        keep_file(ctx, name, OWN, "local")


def test_the_files_of_the_settings_come_first_and_a_faulty_one_stops_the_start(
    ctx: Context, readers: Readers, tmp_path: Path
) -> None:
    path = tmp_path / "own.toml"
    path.write_bytes(OWN)
    settled = replace(ctx, settings=ctx.settings.model_copy(update={"signatures": str(path)}))
    keep_file(settled, "b", OTHER, "local")
    own = own_from_bytes(find_signatures_in_force(settled))
    assert [one.file for one in own.entries] == [str(path), "uploaded/b"]
    with pytest.raises(Unprocessable):
        keep_file(settled, "a", OWN, "local")
    broken = tmp_path / "broken.toml"
    broken.write_bytes(b"[[signature]]\n")
    with pytest.raises(UsageError, match=r"broken\.toml:1: name is missing"):
        open_context(ctx.settings.model_copy(update={"signatures": str(broken)}))


def test_uploads_that_came_to_contradict_the_settings_are_left_out(
    ctx: Context, tmp_path: Path
) -> None:
    keep_file(ctx, "a", OWN, "local")
    path = tmp_path / "own.toml"
    path.write_bytes(OWN)
    settled = replace(ctx, settings=ctx.settings.model_copy(update={"signatures": str(path)}))
    own = own_from_bytes(find_signatures_in_force(settled))
    assert [one.file for one in own.entries] == [str(path)]


def test_what_is_not_there_is_not_removed(ctx: Context) -> None:
    with pytest.raises(NotFound):
        remove_file(ctx, "a", "local")


def test_a_confined_reader_reads_with_the_set_of_each_request(ctx: Context) -> None:
    keep_file(ctx, "a", OWN, "local")
    with Sandbox() as sandbox:
        with_own = incident(ctx, sandbox, "n1", RISER, LOST)
        remove_file(ctx, "a", "local")
        without = incident(ctx, sandbox, "n2", RISER, LOST)
    assert signatures_of(ctx, with_own) == ["local.riser_alarm", "nvidia.xid"]
    assert signatures_of(ctx, without) == ["nvidia.xid"]
