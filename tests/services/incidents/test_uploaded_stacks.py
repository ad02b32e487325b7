"""Stacks of a job that hangs, sent to the service: read as the command reads them."""

from pathlib import Path

import pytest

import triage
from simulator.perturb.incident import save
from tests.services.whole_jobs import body_of, tar_of
from tests.support.stack_texts import (
    LOADER,
    REDUCE,
    faulthandler_text,
    py_spy_text,
    server_file,
)
from tests.support.work import do_all
from triage.domain.failure_match import Failure
from triage.domain.file_kind import FileKind
from triage.domain.states import WorkKind
from triage.render.data import wire
from triage.sandbox.pool import Readers
from triage.services.context import Context
from triage.services.incidents.announce import announce
from triage.services.uploads.body import identify_file
from triage.services.uploads.ingest import take_bundle
from triage.services.uploads.raw_file import find_stored_file, read_pieces
from triage.services.uploads.received import Target
from triage.store.incidents import revisions

# Put together here, so that no scanner takes it for one that was lost.
SECRET = "hf_" + "aB3dE6gH9j" * 4
COMMAND = f"python pretrain.py --hub-token {SECRET}"
STACKS = {
    f"stacks/rank_{rank}.txt": py_spy_text(
        4100 + rank, LOADER if rank == 2 else REDUCE, command=COMMAND
    ).encode()
    for rank in range(8)
}
SERVER = {
    "dumps/stacks_20260314_024210.txt": server_file(
        "dump_traceback", [faulthandler_text(LOADER if rank == 2 else REDUCE) for rank in range(8)]
    ).encode()
}


@pytest.fixture(params=["sqlite"])
def database_url(request: pytest.FixtureRequest) -> str:
    return ""


@pytest.mark.parametrize("files", [STACKS, SERVER], ids=["a file each", "of the debug server"])
def test_the_service_says_of_stacks_what_the_command_says(
    ctx: Context, readers: Readers, tmp_path: Path, files: dict[str, bytes]
) -> None:
    opened = announce(ctx, Failure("4711", None, expected_artifacts=len(files)))
    body = body_of(tar_of(files))
    brought = take_bundle(ctx, Target("4711", incident=opened.id), body, None)
    assert {(one.status, one.reason) for one in brought.members} == {(201, None)}
    do_all(ctx, readers, WorkKind.PARSE, WorkKind.ANALYSE)
    with ctx.database.reading() as session:
        stored = wire.report(revisions.find_newest(session, opened.id).reported())
    save(files, tmp_path / "folder")
    here = triage.analyze(tmp_path / "folder").to_dict()

    assert stored["suspects"]
    assert [one["ranks"] for one in stored["suspects"]] == [
        one["ranks"] for one in here["suspects"]
    ]
    assert stored["verdict"] == here["verdict"]


def test_secrets_of_a_command_line_are_not_kept(ctx: Context) -> None:
    body = body_of(tar_of(STACKS))
    brought = take_bundle(ctx, Target("4712"), body, None)
    incident = brought.incident_id
    kept = b"".join(read_pieces(ctx, find_stored_file(ctx, incident, "stacks/rank_2.txt")))

    assert b"MainThread" in kept
    assert SECRET.encode() not in kept


@pytest.mark.parametrize("data", [*STACKS.values(), *SERVER.values()][-2:])
def test_stacks_are_stored_as_logs_and_not_as_bytes(data: bytes) -> None:
    found = identify_file(data, "x.txt", None)

    assert (found.kind, found.binary) == (FileKind.JOB_LOG, False)
