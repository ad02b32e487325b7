"""The killable child: it may crash, hang or eat memory, and the next call finds another."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest

import triage
from benchmarks.service_processes import is_reader
from tests.support.crash_readers import build_crash_environment
from tests.support.waiting import eventually
from triage.domain.answer_wire import answer_from_bytes
from triage.domain.category import Category
from triage.domain.report import Refused
from triage.domain.restart import EarlierEnd, EarlierStarts
from triage.domain.standing import Grade, Prior
from triage.parsers.extract.wire import pack, unpack
from triage.parsers.files.inputs import find_inputs
from triage.render.data import wire
from triage.sandbox.errors import ReaderDied, ReaderFailed, ReaderTooSlow
from triage.sandbox.pool import Analysis, FileToRead, KnownOfJob, Sandbox, SandboxPool
from triage.sandbox.process import build_child_environment
from triage.sandbox.warm_up import hold_exclusive_lock

ROOT = Path(__file__).parents[2]
INCIDENTS = ROOT / "tests" / "incidents"
PATIENT_S = 300.0
# Of the shared reader; one that runs out of memory fills all of it first.
MOST_BYTES = 1 << 30
XID = "[Sat Nov 21 03:14:15 2026] NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.\n"


def files_of(folder: Path) -> list[FileToRead]:
    return [
        FileToRead(one.path, one.artifact, one.size_bytes) for one in find_inputs([folder]).files
    ]


@pytest.fixture
def log(tmp_path: Path) -> FileToRead:
    path = tmp_path / "kernel.log"
    path.write_text(XID)
    return FileToRead(path, "nodes/n3/kernel.log", len(XID))


@pytest.fixture(scope="module")
def reader() -> Iterator[Sandbox]:
    """A reader that some names bring down. It is one for all tests: starting takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        asked = "by-signal=segv,by-status=exit,by-memory=oom,by-hanging=hang"
        for name, value in build_crash_environment(asked).items():
            patch.setenv(name, value)
        with Sandbox(MOST_BYTES) as one:
            yield one


def report_of(analysis: Analysis) -> dict[str, Any]:
    return wire.report(answer_from_bytes(analysis.answer))


def gone(pid: int) -> bool:
    """Whether a process has ended; a zombie has."""
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text("utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("name", ["logs-gpu-lost-with-dumps-w8", "nccl-never-joins-w8"])
def test_what_the_child_says_is_what_analyze_says(reader: Sandbox, name: str) -> None:
    files = files_of(INCIDENTS / name)
    packed = reader.extract(files, deadline_s=PATIENT_S)
    assert [unpack(one.packed).artifact for one in packed] == [one.artifact for one in files]
    found = reader.analyse((one.packed for one in packed), deadline_s=PATIENT_S)
    whole = triage.analyze(INCIDENTS / name)
    assert report_of(found) == whole.to_dict()
    assert answer_from_bytes(found.answer) == whole.answer
    moments = wire.list_moments(answer_from_bytes(found.answer))
    assert [one["text"] for one in moments] == [one.text for one in whole.answer.timeline]
    assert all(set(one) == {"at", "node", "rank", "kind", "category", "text"} for one in moments)
    assert found.peak_mib > 0
    if name.startswith("logs"):
        assert moments
        assert any(one.at is not None for one in found.dated)


def test_the_kill_exam_knows_a_reader_by_its_command(reader: Sandbox) -> None:
    """It looks for readers among a service's processes, to kill one alone."""
    assert reader.pid is not None
    assert is_reader(reader.pid)
    assert not is_reader(os.getpid())


def test_the_child_is_told_of_standings_beside_what_a_job_json_says(reader: Sandbox) -> None:
    name = INCIDENTS / "logs-gpu-lost-with-dumps-w8"
    packed = [one.packed for one in reader.extract(files_of(name), deadline_s=PATIENT_S)]
    node = triage.analyze(name).answer.suspects[0].node
    assert node is not None
    prior = Prior(Grade.LEMON, "it was in trouble before")
    said = orjson.dumps({"standings": {node: prior.to_dict()}})

    told = reader.analyse(packed, KnownOfJob(standings={node: prior}), deadline_s=PATIENT_S)
    not_told = reader.analyse(packed, KnownOfJob(said), deadline_s=PATIENT_S)

    last = report_of(told)["suspects"][0]["because"][-1]
    assert (last["detector"], last["text"]) == ("history.standing", prior.text)
    assert "history.standing" not in str(report_of(not_told))


def test_the_child_is_told_of_earlier_starts(reader: Sandbox) -> None:
    name = INCIDENTS / "logs-storage-many-nodes-w16"
    packed = [one.packed for one in reader.extract(files_of(name), deadline_s=PATIENT_S)]
    ends = (EarlierEnd(Category.STORAGE, (), 60.0),) * 4

    told = reader.analyse(
        packed, KnownOfJob(starts=EarlierStarts(4, 60.0, ends)), deadline_s=PATIENT_S
    )

    restart = report_of(told)["restart"]
    assert restart["decision"] == "wait"
    assert "4 of 4 restarts within 60 seconds" in restart["why"]


def test_facts_refused_files_notes_and_the_time_of_the_stop_arrive(
    reader: Sandbox, log: FileToRead
) -> None:
    packed = reader.extract([log], deadline_s=PATIENT_S)
    found = reader.analyse(
        [one.packed for one in packed],
        KnownOfJob(
            b'{"job_id": "4711", "world_size": "many"}',
            [Refused("nodes/n1/x", "three readers lost")],
            ["a note"],
        ),
        deadline_s=PATIENT_S,
    )
    report = report_of(found)
    assert report["job"]["job_id"] == "4711"
    assert report["coverage"]["unreadable"] == [
        {"artifact": "nodes/n1/x", "why": "three readers lost"}
    ]
    notes = report["coverage"]["notes"]
    assert "a note" in notes
    assert any('"world_size" is no positive integer' in note for note in notes)
    assert [(one.artifact, one.line, one.node) for one in found.dated] == [
        ("nodes/n3/kernel.log", 1, "n3")
    ]


def test_nothing_at_all_is_answered_too(reader: Sandbox) -> None:
    found = reader.analyse([], KnownOfJob(b""), deadline_s=PATIENT_S)
    assert "Nothing came in" in report_of(found)["verdict"]["summary"]
    assert found.dated == ()


def test_the_rank_that_the_sender_gives_arrives(reader: Sandbox) -> None:
    (file, *_) = files_of(INCIDENTS / "nccl-never-joins-w8" / "fr")
    given = FileToRead(file.path, file.artifact, file.size_bytes, 6)
    (found,) = reader.extract([given], deadline_s=PATIENT_S)
    assert unpack(found.packed).digests[0].rank == 6


def test_a_hundred_calls_are_one_process(reader: Sandbox, log: FileToRead) -> None:
    first = reader.extract([log], deadline_s=PATIENT_S)
    pid = reader.pid
    for _ in range(100):
        assert reader.extract([log], deadline_s=PATIENT_S) == first
    assert reader.pid == pid


def test_an_error_is_an_answer_and_the_child_lives_on(reader: Sandbox, log: FileToRead) -> None:
    packed = reader.extract([log], deadline_s=PATIENT_S)
    pid = reader.pid
    with pytest.raises(ReaderFailed, match="Corrupt") as error:
        reader.analyse([packed[0].packed, b"damaged", packed[0].packed], deadline_s=PATIENT_S)
    assert error.value.error == "Corrupt"
    assert reader.extract([log], deadline_s=PATIENT_S) == packed
    assert reader.pid == pid


def test_a_source_of_extracts_that_fails_costs_the_child_and_nothing_else(
    reader: Sandbox, log: FileToRead
) -> None:
    packed = reader.extract([log], deadline_s=PATIENT_S)
    pid = reader.pid

    def broken() -> Iterator[bytes]:
        yield packed[0].packed
        raise LookupError("the database went away")

    with pytest.raises(LookupError, match="went away"):
        reader.analyse(broken(), deadline_s=PATIENT_S)
    assert reader.extract([log], deadline_s=PATIENT_S) == packed
    assert reader.pid != pid
    assert pid is not None
    assert gone(pid)


def test_two_threads_take_turns(reader: Sandbox, log: FileToRead) -> None:
    files = files_of(INCIDENTS / "nccl-never-joins-w8" / "fr")
    wanted = [reader.extract(one, deadline_s=PATIENT_S) for one in (files, [log])]
    with ThreadPoolExecutor(4) as threads:
        calls = [
            threads.submit(reader.extract, [files, [log]][k % 2], deadline_s=PATIENT_S)
            for k in range(24)
        ]
        for k, call in enumerate(calls):
            assert call.result() == wanted[k % 2]


def test_a_child_that_was_killed_between_two_calls_is_replaced(
    reader: Sandbox, log: FileToRead
) -> None:
    first = reader.extract([log], deadline_s=PATIENT_S)
    pid = reader.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    # Its first thread is a zombie before the last one is gone.
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert reader.extract([log], deadline_s=PATIENT_S) == first
    assert reader.pid != pid


def test_a_child_that_a_terminal_interrupts_goes_on(reader: Sandbox, log: FileToRead) -> None:
    reader.extract([log], deadline_s=PATIENT_S)
    assert reader.pid is not None
    assert os.getsid(reader.pid) == reader.pid != os.getsid(0)


@pytest.mark.parametrize(
    ("name", "signal_", "status", "said"),
    [
        ("by-signal", signal.SIGSEGV, None, "SIGSEGV"),
        ("by-status", None, 3, "ended with status 3"),
        ("by-memory", None, 86, "needed more than the 1,024 MiB"),
    ],
)
def test_a_death_says_how(
    reader: Sandbox,
    log: FileToRead,
    name: str,
    signal_: signal.Signals | None,
    status: int | None,
    said: str,
) -> None:
    reader.extract([log], deadline_s=PATIENT_S)
    pid = reader.pid
    bad = FileToRead(log.path, f"nodes/n3/{name}.log", log.size_bytes)
    with pytest.raises(ReaderDied, match=said) as error:
        reader.extract([log, bad], deadline_s=PATIENT_S)
    assert (error.value.signal, error.value.status) == (signal_, status)
    assert error.value.out_of_memory == (name == "by-memory")
    assert error.value.peak_mib > 50
    assert pid is not None
    assert gone(pid)
    assert reader.pid is None


def test_a_hang_is_ended_at_the_deadline_and_the_next_call_finds_another(
    reader: Sandbox, log: FileToRead
) -> None:
    good = reader.extract([log], deadline_s=PATIENT_S)
    pid = reader.pid
    bad = FileToRead(log.path, "by-hanging", log.size_bytes)
    with pytest.raises(ReaderTooSlow, match=r"not done after 0\.3 s") as error:
        reader.extract([bad], deadline_s=0.3)
    assert error.value.seconds >= 0.3
    assert pid is not None
    assert gone(pid)
    assert reader.extract([log], deadline_s=PATIENT_S) == good
    assert reader.pid != pid


def test_a_child_that_stops_taking_what_it_is_sent_is_ended(
    reader: Sandbox, log: FileToRead
) -> None:
    packed = reader.extract([log], deadline_s=PATIENT_S)
    # Stopped while it gives memory back, it would be waited for, and replaced before the call.
    pid = reader.ready_child().pid
    os.kill(pid, signal.SIGSTOP)

    def endless() -> Iterator[bytes]:
        while True:
            yield packed[0].packed

    with pytest.raises(ReaderTooSlow):
        reader.analyse(endless(), deadline_s=0.5)
    assert gone(pid)


PARENT = """
import sys, time, threading
from pathlib import Path
from triage.sandbox.pool import FileToRead, Sandbox
one = Sandbox()
log = FileToRead(Path(sys.argv[1]), "k.log", 1)
# A thread that ends must not take the child with it.
first = threading.Thread(target=one.extract, args=([log],), kwargs={"deadline_s": 300})
first.start()
first.join()
pid = one.pid
one.extract([log], deadline_s=300)
assert one.pid == pid
print(pid, flush=True)
if sys.argv[2] == "busy":
    one.extract([FileToRead(Path(sys.argv[1]), "poison", 1)], deadline_s=300)
time.sleep(300)
"""


@pytest.mark.parametrize("state", ["idle", "busy"])
def test_a_child_does_not_outlive_a_parent_that_was_killed(log: FileToRead, state: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(log.path), state],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, **build_crash_environment("poison=hang")},
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not gone(pid)
        parent.kill()
    eventually(lambda: gone(pid))


def test_it_is_told_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIAGE_DATABASE_URL", "postgresql://secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("PGPASSWORD", "secret")
    with Sandbox() as one:
        # Before the child runs its program, the kernel has no environment of it to show.
        pid = one.ready_child().pid
        try:
            told = Path(f"/proc/{pid}/environ").read_bytes()
        except PermissionError:  # only root looks into it
            told = str(build_child_environment(os.environ)).encode()
    assert b"PATH" in told
    assert b"secret" not in told


def test_its_limits_are_set(reader: Sandbox, log: FileToRead) -> None:
    reader.extract([log], deadline_s=PATIENT_S)
    limits = Path(f"/proc/{reader.pid}/limits").read_text("utf-8")
    found = {line[:26].strip(): line[26:].split()[0] for line in limits.splitlines()}
    assert found["Max address space"] == str(MOST_BYTES)
    assert found["Max open files"] == "256"
    assert found["Max core file size"] == "0"


def test_a_child_that_keeps_much_memory_is_replaced_behind_its_answer(
    tmp_path: Path, log: FileToRead, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in build_crash_environment("by-keeping=keep").items():
        monkeypatch.setenv(name, value)
    bad = FileToRead(log.path, "by-keeping", log.size_bytes)
    with Sandbox(2 << 30, 640 << 20) as one:
        good = one.extract([log], deadline_s=PATIENT_S)
        first = one.pid
        assert one.extract([log], deadline_s=PATIENT_S) == good
        assert one.pid == first
        (answer,) = one.extract([bad], deadline_s=PATIENT_S)  # it is answered all the same
        assert unpack(answer.packed).artifact == "by-keeping"
        assert first is not None
        eventually(lambda: gone(first))  # at once: the memory does not wait for the next request
        for _ in range(3):
            assert one.extract([log], deadline_s=PATIENT_S) == good
        assert one.pid not in {first, None}


def test_a_pool_never_blames_a_file_for_the_memory_of_the_one_before(
    log: FileToRead, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in build_crash_environment("by-keeping=keep").items():
        monkeypatch.setenv(name, value)
    bad = FileToRead(log.path, "by-keeping", log.size_bytes)
    with SandboxPool(1, 2 << 30, 640 << 20) as pool, ThreadPoolExecutor(2) as threads:
        files = [bad, bad, log]
        calls = [threads.submit(pool.extract, [one], deadline_s=PATIENT_S) for one in files]
        assert [len(call.result()) for call in calls] == [1] * len(files)


def test_one_compiles_and_the_others_wait_for_it(tmp_path: Path) -> None:
    lock = tmp_path / "source.py"
    lock.write_text("")
    inside, most, order = 0, 0, threading.Lock()

    def start(_: int) -> None:
        nonlocal inside, most
        with hold_exclusive_lock(lock):
            with order:
                inside += 1
                most = max(most, inside)
            time.sleep(0.05)
            with order:
                inside -= 1

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(start, range(8)))
    assert most == 1
    with hold_exclusive_lock(tmp_path / "not there"):
        pass  # nothing to lock: each by itself


def test_a_pool_lends_each_child_to_one_at_a_time(log: FileToRead) -> None:
    with SandboxPool(2) as pool:
        assert [one.pid for one in pool.members] == [None, None]  # nothing was needed yet
        wanted = pool.extract([log], deadline_s=PATIENT_S)
        assert [one.pid is None for one in pool.members] == [False, True]
        with pool.lease() as first, pool.lease() as second:
            assert first is not second
            assert pool.free.empty()
            pids = [first.pid]
        with ThreadPoolExecutor(6) as threads:
            calls = [threads.submit(pool.extract, [log], deadline_s=PATIENT_S) for _ in range(12)]
            assert all(call.result() == wanted for call in calls)
        packed = [one.packed for one in wanted]
        report = report_of(pool.analyse(packed, deadline_s=PATIENT_S))
        assert report["coverage"]["lines_read"] == 1
        pids = [one.pid for one in pool.members if one.pid is not None]
    assert all(gone(pid) for pid in pids)


def test_closing_ends_a_call_that_goes_on(reader: Sandbox, log: FileToRead) -> None:
    reader.extract([log], deadline_s=PATIENT_S)
    bad = FileToRead(log.path, "by-hanging", log.size_bytes)
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(reader.extract, [bad], deadline_s=PATIENT_S)
        eventually(reader.lock.locked)
        reader.close()
        with pytest.raises(ReaderDied, match="SIGKILL"):
            call.result()
    assert reader.pid is None


def test_a_fork_starts_its_own_child_and_leaves_the_other_alone(log: FileToRead) -> None:
    code = """
import os, sys
from pathlib import Path
from triage.sandbox.pool import FileToRead, Sandbox
one = Sandbox()
log = FileToRead(Path(sys.argv[1]), "k.log", 1)
wanted = one.extract([log], deadline_s=300)
pid = one.pid
child = os.fork()
if child == 0:
    good = one.extract([log], deadline_s=300) == wanted and one.pid != pid
    one.close()
    os._exit(0 if good else 1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert one.extract([log], deadline_s=300) == wanted and one.pid == pid
one.close()
sys.exit(status)
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(log.path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr.decode()


def test_the_packed_extract_is_the_one_that_is_made_here(reader: Sandbox, log: FileToRead) -> None:
    from triage.formats.extractor import Extractor
    from triage.parsers.files.inputs import InputFile

    here = Extractor().extract([InputFile(log.path, log.artifact, log.size_bytes)])
    found = reader.extract([log], deadline_s=PATIENT_S)
    assert [one.packed for one in found] == [pack(one) for one in here]


def test_threads_are_not_left_behind(reader: Sandbox, log: FileToRead) -> None:
    reader.extract([log], deadline_s=PATIENT_S)
    before = set(threading.enumerate())
    for _ in range(5):
        reader.extract([log], deadline_s=PATIENT_S)
    # Those of other tests may end meanwhile.
    assert set(threading.enumerate()) <= before
