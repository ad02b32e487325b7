"""``--digest``: dumps become digests on the node, and stay dumps where that does not work."""

import io
import shutil
from pathlib import Path

import pytest

from tests.collectors.scripted import (
    ROOT,
    TOKEN,
    accepted,
    arguments,
    finished,
    run,
    service,
    waiting,
)
from triage import analyze
from triage.collectors import digest as digester
from triage.collectors.artifact import Deadline
from triage.errors import ArtifactError
from triage.formats.dumps import DumpReader
from triage.formats.extractor import make_digest_file
from triage.parsers.flight_recorder.limits import DEFAULT_LIMITS
from triage.parsers.flight_recorder.shared import Shared
from triage.render.data import wire
from triage.sandbox.confinement.probe import probe_confinement_gaps

MISSING = probe_confinement_gaps()
DUMPS = ROOT / "tests" / "data" / "nccl-p2p-mismatch-w8"


@pytest.fixture
def real(node, tmp_path):
    """The node with dumps that PyTorch wrote."""
    shutil.rmtree(tmp_path / "fr")
    shutil.copytree(DUMPS, tmp_path / "fr")
    return lambda url, **more: node(
        url, fr=(str(tmp_path / "fr" / "comm_lib_trace_rank_*"),), digest=True, **more
    )


def unpacked(members: dict[str, bytes], folder: Path) -> Path:
    for name, data in members.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def test_digests_are_sent_and_say_what_the_dumps_say(real, node, tmp_path) -> None:
    with service(accepted()) as there:
        outcome = run(real(there.url), tmp_path, TRIAGE_TOKEN=TOKEN)
        run(real(there.url)._replace(digest=False), tmp_path, TRIAGE_TOKEN=TOKEN)

    small, whole = (request.members for request in there.requests)
    assert outcome.complete
    assert list(small) == list(whole)
    dumps = [name for name in small if name.startswith("fr/")]
    assert len(dumps) == 8
    assert all(small[name].startswith(b"triage-digest 1 ") for name in dumps)
    assert max(len(small[name]) for name in dumps) < 8192
    assert [name for name in small if small[name] == whole[name]] == [
        name for name in small if name not in dumps
    ]
    answers = [
        wire.render(analyze(unpacked(one, tmp_path / str(number))).answer)
        for number, one in enumerate((small, whole))
    ]
    assert answers[0] == answers[1]


def test_what_is_no_dump_or_broken_goes_as_it_is(real, tmp_path) -> None:
    (tmp_path / "fr" / "comm_lib_trace_rank_2").write_bytes(b"")
    (tmp_path / "fr" / "comm_lib_trace_rank_3").write_bytes(b"\x80\x02c__builtin__\neval\n")
    with service(accepted()) as there:
        outcome = run(real(there.url), tmp_path)

    members = there.requests[0].members
    assert members["fr/comm_lib_trace_rank_2"] == b""
    assert members["fr/comm_lib_trace_rank_3"].startswith(b"\x80\x02c")
    assert members["fr/comm_lib_trace_rank_4"].startswith(b"triage-digest")
    assert "opcode" in " ".join(note.why for note in outcome.notes)
    assert not [name for name in members if name.endswith("MANIFEST.txt")]


def test_a_node_without_the_compiled_loops_sends_dumps(real, tmp_path) -> None:
    """The command as a node runs it that has Python and this folder alone."""
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "numba.py").write_text("raise ImportError('not on this node')")
    with service(accepted()) as there:
        status, _, err = finished(
            tmp_path,
            *arguments(real(there.url)),
            "--digest",
            TRIAGE_TOKEN=TOKEN,
            PYTHONPATH=f"{ROOT}:{tmp_path / 'bare'}",
        )

    assert status == 0, err
    members = there.requests[0].members
    assert members["fr/comm_lib_trace_rank_0"] == (DUMPS / "comm_lib_trace_rank_0").read_bytes()
    assert "no digests on this node, dumps are sent whole" in err
    assert err.count("no digests on this node") == 1


READ = "import sys, time; sys.stdin.buffer"


@pytest.mark.parametrize(
    ("script", "word"),
    [
        ("import sys; sys.exit(3)", "whole package"),
        ("import time; time.sleep(600)", "no time"),
        # Both stay: of one that ends, the write may be told before its answer is.
        (f"{READ}.read(5); print('x' * 5000, flush=True); time.sleep(600)", "else"),
        (f"{READ}.readline(); print('99999999999', flush=True); time.sleep(600)", "else"),
        ("import os; os.write(1, b'100\\n'); os.close(1)", "whole package"),
    ],
)
def test_a_maker_that_fails_is_asked_once_and_leaves_nothing(
    script: str, word: str, monkeypatch, tmp_path
) -> None:
    (tmp_path / "maker_of_this_test.py").write_text(script)
    monkeypatch.setattr(digester, "ROOT", str(tmp_path))
    monkeypatch.setattr(digester, "MAKER", "maker_of_this_test")
    with digester.Digester() as one:
        first = one.digest(io.BytesIO(b"x" * 300), "rank_0", Deadline(3.0))
        second = one.digest(io.BytesIO(b"x"), "rank_1", Deadline(60.0))

    assert first.data == second.data == b""
    assert word in first.why
    assert second.why == first.why
    assert not digester.running


def test_the_maker_knows_no_secret_and_starts_where_the_package_lies(monkeypatch, tmp_path) -> None:
    (tmp_path / "maker_of_this_test.py").write_text(
        "import os, sys\n"
        "sys.stdin.buffer.readline()\n"
        "secrets = [name for name, value in os.environ.items() if value.startswith('triage_')]\n"
        "said = f'{os.getcwd()} {secrets}'.encode()\n"
        "sys.stdout.buffer.write(b'%d\\n' % len(said) + said); sys.stdout.flush(); input()\n"
    )
    for name in ("TRIAGE_TOKEN", "AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY", "SLURM_JWT"):
        monkeypatch.setenv(name, TOKEN)
    monkeypatch.setattr(digester, "ROOT", str(tmp_path))
    monkeypatch.setattr(digester, "MAKER", "maker_of_this_test")
    with digester.Digester() as one:
        made = one.digest(io.BytesIO(b""), "rank_0", Deadline(60.0))

    assert made.data.decode() == f"{tmp_path} []"


def test_the_maker_is_confined_as_far_as_this_system_can() -> None:
    dump = (DUMPS / "comm_lib_trace_rank_0").read_bytes()
    with digester.Digester() as one:
        made = one.digest(io.BytesIO(dump), "comm_lib_trace_rank_0", Deadline(120.0))
        (pid,) = digester.running
        status = Path(f"/proc/{pid}/status")
        if MISSING or not status.exists():
            pytest.skip(f"this system cannot: {MISSING}")
        lines = dict(line.split(":\t") for line in status.read_text("utf-8").splitlines())
        limits = Path(f"/proc/{pid}/limits").read_text("utf-8")

    assert made.data.startswith(b"triage-digest 1 ")
    assert made.why == ""
    assert (lines["NoNewPrivs"], lines["Seccomp"]) == ("1", "2")
    assert f"Max address space         {4 << 30}" in limits


def test_a_confined_maker_digests_every_dump_as_one_that_is_not() -> None:
    """Nothing that is loaded or compiled late is missing, and nobody is killed over a dump."""
    reader = DumpReader(Shared(), DEFAULT_LIMITS)
    made = 0
    with digester.Digester() as one:
        for path in sorted(DUMPS.parent.rglob("*rank_*")):
            if not path.is_file():
                continue
            data = path.read_bytes()
            try:
                expected = make_digest_file(reader, data, path.name)
            except ArtifactError:
                expected = b""
            got = one.digest(io.BytesIO(data), path.name, Deadline(120.0))
            assert got.data == expected, (path, got.why)
            made += bool(expected)
    assert made >= 20


def test_a_node_that_cannot_confine_the_maker_says_so_once(real, monkeypatch, tmp_path) -> None:
    """As on a machine whose system calls have no numbers that we know."""
    (tmp_path / "sitecustomize.py").write_text(
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from triage.sandbox.confinement import seccomp; seccomp.MACHINE = None\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with service(accepted()) as there:
        outcome = run(real(there.url), tmp_path)

    assert all(
        data.startswith(b"triage-digest")
        for name, data in there.requests[0].members.items()
        if name.startswith("fr/")
    )
    (said,) = [note.why for note in outcome.notes if "confine" in note.why]
    assert said.startswith("this node does not confine what makes digests: ")
    assert "it makes all system calls (the numbers of this machine's calls are not known" in said


def test_a_dry_run_and_the_spool_know_digests_too(real, tmp_path) -> None:
    with service(accepted()) as there:
        url = there.url
    outcome = run(real(url, deadline_s=20.0, compress=False), tmp_path)

    assert not outcome.complete
    (bundle,) = waiting(tmp_path)
    data = bundle.read_bytes()
    assert b"triage-digest 1 " in data
    assert len(data) < sum(path.stat().st_size for path in DUMPS.iterdir())
