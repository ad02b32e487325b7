"""Logs to evidence: what joins, what stays apart, and that nothing else decides."""

import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from triage.domain.category import Category
from triage.domain.evidence import EvidenceRole, Kind
from triage.formats.gather import gather
from triage.formats.streams import read_logs
from triage.parsers.files.inputs import find_inputs
from triage.parsers.logs.catalogue import Catalogue
from triage.parsers.logs.logset import LogKind, LogSet
from triage.parsers.logs.read import LogBounds
from triage.signatures.signature import Reading, Scope, Signature

XID = Signature(
    id="test.xid",
    kind=Kind.XID,
    role=EvidenceRole.ROOT,
    literals=("xid",),
    pattern=re.compile(r"Xid \((?:PCI:)?(?P<gpu>[0-9a-f:.]+)\): (?P<code>\d+)"),
    source="test",
    matches=(),
    category=Category.GPU,
    scope=Scope.KERNEL,
)
ROW = Signature(
    id="test.row",
    kind=Kind.ELASTIC,
    role=EvidenceRole.CONSEQUENCE,
    literals=("exitcode",),
    pattern=re.compile(r"exitcode +: (?P<exit>-?\d+)"),
    source="test",
    matches=(),
    each=True,
)
BLOCK = Signature(
    id="test.block",
    kind=Kind.PYTHON,
    role=EvidenceRole.ROOT,
    literals=("traceback",),
    pattern=re.compile(r"Traceback \(most"),
    source="test",
    matches=(),
    context=3,
    read=lambda _, after: Reading(fields={"after": "|".join(after)}),
)
MOVED = Signature(
    id="test.moved",
    kind=Kind.PROGRESS,
    role=EvidenceRole.NOISE,
    literals=("moved ",),
    pattern=re.compile(r"moved (?P<step>\d+)"),
    source="test",
    matches=(),
    quiet=True,
)
CATALOGUE = Catalogue((XID, ROW, BLOCK, MOVED))


def read(folder: Path, **options: object) -> LogSet:
    return read_logs(find_inputs([folder]).files, catalogue=CATALOGUE, **options)  # type: ignore[arg-type]


def logs(folder: Path, text: str | bytes, name: str = "nodes/n3/kernel.log") -> LogSet:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read(folder)


def xid(code: int = 79, gpu: str = "0000:5d:00", pid: int = 1234) -> str:
    return f"NVRM: Xid (PCI:{gpu}): {code}, pid={pid}, name=python3, Ch {pid:08x}"


def test_a_flood_is_one_row(tmp_path: Path) -> None:
    text = "".join(f"[{9_000 + k / 10:12.6f}] {xid(pid=k)}\n" for k in range(30_000))
    (row,) = logs(tmp_path, text).evidence
    assert (row.count, row.line, row.node, row.code, row.gpu) == (30_000, 1, "n3", 79, "0000:5d:00")
    assert (row.stamp.uptime_ns, row.last_stamp.uptime_ns) == (9_000 * 10**9, 11_999_900_000_000)


def test_an_hour_of_quiet_parts_bursts(tmp_path: Path) -> None:
    at = (100, 200, 3_700, 7_400, 7_500)
    text = "".join(f"[{second}.000000] {xid()}\n" for second in at)
    assert [(row.line, row.count) for row in logs(tmp_path, text).evidence] == [(1, 3), (4, 2)]


def test_what_identifies_parts_rows(tmp_path: Path) -> None:
    lines = [xid(79), xid(48), xid(79, gpu="0000:5e:00"), xid(79)]
    text = "".join(f"[10.00000{k}] {line}\n" for k, line in enumerate(lines))
    found = [(row.code, row.gpu, row.count) for row in logs(tmp_path, text).evidence]
    assert found == [(79, "0000:5d:00", 2), (48, "0000:5d:00", 1), (79, "0000:5e:00", 1)]


def test_ranks_are_apart_and_rows_of_tables_stay(tmp_path: Path) -> None:
    text = "".join(f"[rank{rank}]: {xid()}\n  exitcode : -9\n" for rank in (3, 12345, 3))
    rows = logs(tmp_path, text, "train.log").evidence
    assert [(row.rank, row.count) for row in rows if row.kind is Kind.XID] == [(3, 2), (12345, 1)]
    assert [row.line for row in rows if row.kind is Kind.ELASTIC] == [2, 4, 6]


def test_noise_of_a_kernel_is_one_row_at_all_hours(tmp_path: Path) -> None:
    text = (
        "".join(f"[{k * 9_000:6d}.000000] moved 1\n" for k in range(30)) + f"[2.000000] {xid()}\n"
    )
    moved, found = logs(tmp_path, text).evidence
    assert (moved.count, moved.line, moved.last_stamp.uptime_ns) == (30, 1, 261_000 * 10**9)
    assert (found.code, found.count) == (79, 1)


def test_quiet_lines_join_by_their_words_behind_the_first(tmp_path: Path) -> None:
    text = "".join(f"[rank{k}]: moved {k}\n" for k in range(40)) + f"[rank7]: moved 9 {xid()}\n"
    (tmp_path / "train.log").write_text(text)
    rows = read(tmp_path, bounds=LogBounds(quiet=10)).evidence
    moved = [row for row in rows if row.kind is Kind.PROGRESS]
    assert [(row.rank, row.count) for row in moved] == [*((k, 1) for k in range(10)), (10, 30)]
    assert [(row.line, row.rank, row.code) for row in rows if row.kind is Kind.XID] == [(41, 7, 79)]


def test_quiet_lines_that_say_where_a_rank_is_stay_apart(tmp_path: Path) -> None:
    text = "".join(f"n{k // 8}: [rank{k}]: moved {k}\n" for k in range(40))
    (tmp_path / "train.log").write_text(text)
    rows = read(tmp_path, bounds=LogBounds(quiet=10)).evidence
    assert [(row.node, row.rank) for row in rows] == [(f"n{k // 8}", k) for k in range(40)]


def test_a_kernel_line_in_a_job_log_is_an_echo(tmp_path: Path) -> None:
    job = "".join(f"[rank{k}]: step {k}\n" for k in range(20))
    (echo,) = logs(tmp_path, f"{job}[rank3]: {xid()}\n", "a/train.log").evidence
    assert (echo.weak, echo.role) == (True, EvidenceRole.ROOT)
    (real,) = logs(tmp_path / "b", f"[12.000000] {xid()}\n", "kernel.log").evidence
    assert not real.weak


def test_lines_behind_a_line_are_handed_on(tmp_path: Path) -> None:
    text = "[rank1]: Traceback (most recent\n\n[rank1]: one\r\n[rank1]: two\n[rank1]: three\nfour\n"
    (row,) = logs(tmp_path, text, "train.log").evidence
    assert (row.rank, row.fields["after"]) == (1, "one|two|three")


def test_a_message_in_json_says_all_that_it_says(tmp_path: Path) -> None:
    message = f"failed\n{xid(48)}\n  exitcode : 1\nTraceback (most recent\nlast"
    lines = json.dumps({"msg": message, "level": "error"}) + "\n"
    lines += json.dumps({"MESSAGE": list(xid(79).encode()), "_TRANSPORT": "kernel"}) + "\n"
    rows = logs(tmp_path, lines, "train.jsonl").evidence
    assert [(row.line, row.signature, row.code) for row in rows] == [
        (1, "test.block", None), (1, "test.row", None), (1, "test.xid", 48), (2, "test.xid", 79),
    ]  # fmt: skip
    assert rows[0].fields["after"] == "last"


def test_a_hard_wrapped_log_is_joined(tmp_path: Path) -> None:
    records = [f"[{k:12.6f}] {'word ' * (15 + k % 7)}" for k in range(40)]
    records.append(f"[  100.000000] {'pad ' * 15}{xid()}")
    for width in (80, 132):
        rows = []
        for record in records:
            rows += [record[k : k + width] for k in range(0, len(record), width)]
        folder = tmp_path / str(width)
        (found,) = logs(folder, "\n".join(rows) + "\n").evidence
        assert (found.code, rows[(found.line or 0) - 1][:7]) == (79, "[  100.")


def test_lines_of_one_length_are_not_joined(tmp_path: Path) -> None:
    text = "".join(f"[  100.00000{k % 10}] {xid()}\n" for k in range(40))
    (row,) = logs(tmp_path, text).evidence
    assert row.count == 40


def test_lines_of_one_length_before_others_are_not_joined(tmp_path: Path) -> None:
    line = f"[  100.000000] {xid()}".ljust(80, "x")
    (row,) = logs(tmp_path, f"{line}\nother\n" * 40).evidence
    assert row.count == 40
    assert "other" not in row.text


def test_a_flood_of_one_width_swallows_nothing_behind_it(tmp_path: Path) -> None:
    head = [f"n{k}: NCCL INFO rank {k} of 64 {'x' * (k % 9)}" for k in range(64)]
    alone = [
        f" iteration {k:9d}/ 500000 | lm loss: 2.{k:09d} |".ljust(160, ".") for k in range(3000)
    ]
    broken = [f"saving step {k}" if k % 10 == 9 else line for k, line in enumerate(alone)]
    for name, flood in (("alone", alone), ("broken", broken)):
        text = "\n".join([*head, *flood, "  exitcode : 1", *flood[:3], "  exitcode : 2"]) + "\n"
        rows = logs(tmp_path / name, text, "train.log").evidence
        assert [row.line for row in rows] == [3065, 3069]


def test_deltas_of_dmesg_are_summed(tmp_path: Path) -> None:
    text = f"[Feb22 04:01] boot\n[  +1.500000] more\n[  +2.000000] {xid()}\n[  +0.100000] end\n"
    (row,) = logs(tmp_path, text).evidence
    assert row.stamp.wall_ns is not None
    assert row.stamp.wall_ns % 60_000_000_000 == 3_500_000_000


def test_files_know_their_kind_node_and_times(tmp_path: Path) -> None:
    logs(tmp_path, "Nov 21 07:00:00 gpu7 kernel: [5.000000] boot\n" * 3, "a/dmesg.txt")
    found = logs(tmp_path, "[rank0]: step 1\n[rank0]: step 2", "b/train.log")
    kernel, job = found.files
    assert (kernel.kind, kernel.node, kernel.lines) == (LogKind.KERNEL, "gpu7", 3)
    assert (job.kind, job.node, job.lines) == (LogKind.JOB, None, 2)
    assert kernel.first_stamp.wall_ns is not None
    assert kernel.last_stamp.uptime_ns == 5 * 10**9


def test_a_line_of_100_mb_is_cut_and_counted(tmp_path: Path) -> None:
    text = b"[1.0] " + b"x" * 100_000_000 + b"\n" + f"[2.000000] {xid()}\n".encode()
    found = logs(tmp_path, text)
    assert [(row.line, row.code) for row in found.evidence] == [(2, 79)]
    assert found.files[0].not_understood == {"too long": 1}
    assert found.files[0].lines == 2


PIECES = st.sampled_from(
    [
        f"[12.000000] {xid()}\n", f"[rank3]: {xid(48)}\r", "  exitcode : -9\n", "\n", "x" * 90,
        "Traceback (most recent\n", "step 1\rstep 2\r\n", "\x1b[31mXid", "\0", "\udcff", "\\n",
        "2026-11-21T03:04:05Z stdout P ", "2026-11-21T03:04:05Z stdout F ",
    ]
)  # fmt: skip
SMALL = {"line": 300, "context": 200}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(PIECES, max_size=40), chunk=st.integers(1, 300))
@example(pieces=[f"[12.000000] {xid()}\n", *["x" * 90] * 6], chunk=1)
def test_where_chunks_are_cut_decides_nothing(
    pieces: list[str], chunk: int, tmp_path: Path
) -> None:
    data = "".join(pieces).encode("utf-8", "surrogateescape")
    (tmp_path / "a.log").write_bytes(data)
    whole = read(tmp_path, bounds=LogBounds(chunk=1 << 16, **SMALL), templates=True)
    cut = read(tmp_path, bounds=LogBounds(chunk=chunk, **SMALL), templates=True)
    assert cut == whole


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=2000), dressed=st.booleans())
def test_hostile_bytes_raise_nothing(data: bytes, dressed: bool, tmp_path: Path) -> None:
    if dressed:
        data = b"xid Traceback exitcode " + data.replace(b"\n", b" xid\n") + xid().encode()
    (tmp_path / "a.log").write_bytes(data)
    read(tmp_path, templates=True)


def test_the_order_of_files_and_threads_decide_nothing(tmp_path: Path) -> None:
    for node in range(40):
        text = "".join(f"[{k}.000000] {xid(pid=node * 7 + k)}\nother {k}\n" for k in range(9))
        logs(tmp_path, text, f"nodes/n{node}/kernel.log")
    files = list(find_inputs([tmp_path]).files)
    first = read_logs(files, catalogue=CATALOGUE, templates=True, threads=1)
    random.Random(1).shuffle(files)
    second = read_logs(files, catalogue=CATALOGUE, templates=True, threads=3)
    assert first == second
    assert len(first.evidence) == 40


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_log_that_ends_inside_a_line_is_read_to_there(cut: int, tmp_path: Path) -> None:
    line = f"[5.000000] {xid()}"
    found = logs(tmp_path, f"{line}\n{line[:cut]}")
    assert found.files[0].lines == 2
    assert sum(row.count for row in found.evidence) in (1, 2)


WATCHDOG = (
    "[E ProcessGroupNCCL.cpp:548] [Rank 2] Watchdog caught collective operation timeout:"
    " WorkNCCL(SeqNum={turn}, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran"
    " for 1800061 milliseconds before timing out."
)
BAR = "Running tokenizer on dataset:   9%|#8  | 338973/9758753 [29:55<4:48:08, 155.5 examples/s]"


@pytest.mark.parametrize(
    ("bar", "turn", "category"),
    [
        (BAR, 2, Category.HOST_STALL),
        (BAR, 4711, Category.NCCL_TIMEOUT),
        ("Epoch 3:  9%|#8  | 90/900 [29:55<4:48:08, 1.5it/s]", 2, Category.NCCL_TIMEOUT),
    ],
)
def test_a_bar_glued_before_a_line_is_in_its_sight(
    bar: str, turn: int, category: Category, tmp_path: Path
) -> None:
    (tmp_path / "job.log").write_text(f"{bar}{WATCHDOG.format(turn=turn)}\n")

    rows = read_logs(find_inputs([tmp_path]).files).evidence

    assert [one.category for one in rows if one.signature == "c10d.watchdog_timeout"] == [category]


def test_of_a_kernels_chatter_one_line_in_many_is_read(tmp_path: Path) -> None:
    """Each audit record tells the clock; a node prints a hundred thousand of them."""
    path = tmp_path / "kern.log"
    lines = (
        f"[{100 + k}.000000] audit: type=1400 audit({1_790_000_000 + k}.000:{k}): apparmor\n"
        for k in range(20_000)
    )
    path.write_text("".join(lines), "utf-8")
    _, _, logs, *_ = gather(path, None)
    rows = [row for row in logs.evidence if row.signature == "chatter.audit"]
    assert len(rows) < 300
    assert max(row.line or 0 for row in rows) > 19_800, "the last ones date the boot best"
    assert not any("passed over" in note for note in logs.notes)
