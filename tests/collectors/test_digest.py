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
from triage.collectors.deadline import Deadline
from triage.render.data import wire

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


@pytest.mark.parametrize(
    ("script", "word"),
    [
        ("import sys; sys.exit(3)", "whole package"),
        ("import time; time.sleep(600)", "no time"),
        ("import sys; sys.stdin.buffer.read(5); print('x' * 5000, flush=True); input()", "else"),
        ("import sys; sys.stdin.buffer.readline(); print('99999999999', flush=True)", "else"),
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


def test_the_maker_knows_no_token_and_starts_where_the_package_lies(monkeypatch, tmp_path) -> None:
    (tmp_path / "maker_of_this_test.py").write_text(
        "import os, sys\n"
        "sys.stdin.buffer.readline()\n"
        "said = f\"{os.getcwd()} {'TRIAGE_TOKEN' in os.environ}\".encode()\n"
        "sys.stdout.buffer.write(b'%d\\n' % len(said) + said); sys.stdout.flush(); input()\n"
    )
    monkeypatch.setenv("TRIAGE_TOKEN", TOKEN)
    monkeypatch.setattr(digester, "ROOT", str(tmp_path))
    monkeypatch.setattr(digester, "MAKER", "maker_of_this_test")
    with digester.Digester() as one:
        made = one.digest(io.BytesIO(b""), "rank_0", Deadline(60.0))

    assert made.data.decode() == f"{tmp_path} False"


def test_a_dry_run_and_the_spool_know_digests_too(real, tmp_path) -> None:
    with service(accepted()) as there:
        url = there.url
    outcome = run(real(url, deadline_s=20.0, compress=False), tmp_path)

    assert not outcome.complete
    (bundle,) = waiting(tmp_path)
    data = bundle.read_bytes()
    assert b"triage-digest 1 " in data
    assert len(data) < sum(path.stat().st_size for path in DUMPS.iterdir())
