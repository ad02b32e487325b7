"""A dump that was cut keeps its whole entries, and says that it was cut."""

import pickle
import pickletools
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hostile.assembler import HEAD, entry, text, value
from tests.parsers.flight_recorder.dumps import (
    DECODER,
    REAL,
    SPELLINGS,
    Recorder,
    decode,
    differences,
)
from tests.parsers.flight_recorder.strategies import recorders
from triage.errors import Corrupt
from triage.parsers.flight_recorder import columns as col

FOLDERS = sorted({path.parent for path in REAL})


def ends_of_entries(data: bytes) -> list[int]:
    """The offset behind each entry, by the standard library's own disassembler."""
    ends, depth, inside = [], 0, False
    for opcode, argument, at in pickletools.genops(data):
        if opcode.name == "MARK":
            depth += 1
        elif opcode.name in ("SETITEMS", "APPENDS", "TUPLE"):
            depth -= 1
            if inside and opcode.name == "SETITEMS" and depth == 2:
                ends.append(at + 1)
        elif argument == "entries" and depth == 1:
            inside = True
    return ends


def check(data: bytes, at: int, ends: list[int]) -> None:
    whole = sum(end <= at for end in ends)
    try:
        digest = decode(data[:at])
    except Corrupt:
        if whole:
            raise
        return
    assert digest.num_entries == whole, f"cut at {at}"
    assert digest.partial is not None
    assert "the file ends at byte" in digest.partial
    kept = DECODER.entries[:whole, [col.RECORD_ID, col.COLLECTIVE_SEQ, col.CREATED]].tolist()
    decode(data)
    assert (
        DECODER.entries[:whole, [col.RECORD_ID, col.COLLECTIVE_SEQ, col.CREATED]].tolist() == kept
    )


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_real_dump_keeps_its_whole_entries_wherever_it_is_cut(folder: Path) -> None:
    data = (folder / "comm_lib_trace_rank_2").read_bytes()
    ends = ends_of_entries(data)
    assert len(ends) == len(pickle.loads(data)["entries"])

    near = [end + step for end in ends[:20] for step in (-1, 0, 1)]
    for at in (*near, *random.Random(5).sample(range(3, len(data)), 250), len(data) - 1):
        check(data, at, ends)


def test_a_dump_of_every_length_is_read_or_refused() -> None:
    recorder = Recorder()
    for number in range(3):
        recorder.collective(done=number < 2)
    recorder.block(2)
    data = pickle.dumps(recorder.value(), 2)
    ends = ends_of_entries(data)

    for at in range(1, len(data)):
        check(data, at, ends)


@settings(max_examples=100, deadline=None)
@given(recorders(), st.floats(0, 1), st.integers(2, 5))
def test_a_random_dump_keeps_its_whole_entries(
    recorder: Recorder, share: float, protocol: int
) -> None:
    if len(recorder.entries) < 2:  # a single one is appended without a mark
        return
    data = pickle.dumps(recorder.value(), protocol)

    check(data, max(3, int(share * (len(data) - 1))), ends_of_entries(data))


@pytest.mark.parametrize("spelling", [name for name in SPELLINGS if "zeros" not in name])
def test_the_second_batch_of_a_pickler_is_kept_too(spelling: str) -> None:
    recorder = Recorder()
    for _ in range(1500):
        recorder.collective()
    data = SPELLINGS[spelling](recorder.value())
    ends = ends_of_entries(data)
    assert len(ends) == 1500

    for at in (
        ends[998],
        ends[999],
        ends[999] + 1,
        ends[999] + 3,
        ends[1200] + 5,
        ends[-1],
        len(data) - 1,
    ):
        check(data, at, ends)


@pytest.mark.parametrize("page", [512, 4096, 65_536])
def test_zeros_to_the_end_of_a_page_count_as_a_cut(page: int) -> None:
    data = REAL[0].read_bytes()
    ends = ends_of_entries(data)

    for at in random.Random(page).sample(range(2000, len(data)), 60):
        digest = decode(data[:at] + bytes(page - at % page))

        assert digest.num_entries == sum(end <= at for end in ends)
        assert digest.partial is not None


def test_the_place_where_zeros_begin_is_named() -> None:
    data = REAL[0].read_bytes()
    end = ends_of_entries(data)[9]

    # Behind an entry stands its place in the memo or the next entry.
    digest = decode(data[:end] + bytes(100))

    assert digest.partial == f"cut short: only zeros follow at byte {end:,}"


def test_a_cut_leaves_what_stands_before_the_entries() -> None:
    data = REAL[0].read_bytes()
    whole, cut = decode(data), decode(data[: ends_of_entries(data)[0] + 1])

    assert cut.groups == whole.groups
    assert cut.counters == whole.counters
    assert cut.version == whole.version
    assert cut.num_entries == 1


def test_a_dump_cut_behind_its_last_entry_lost_nothing() -> None:
    data = REAL[0].read_bytes()

    cut = decode(data[: ends_of_entries(data)[-1]])

    assert differences(decode(data), cut, "partial") == []
    assert cut.partial


def test_an_entry_that_was_being_written_leaves_no_value_behind() -> None:
    head = HEAD + b"}(" + text("version") + text("2.10") + text("entries") + b"]("
    first, second = value(entry(0)), value(entry(1, profiling_name="nccl:broadcast"))

    for at in range(len(second)):
        digest = decode(head + first + second[:at])

        assert digest.num_entries == 1
        assert digest.history.read().seq.tolist() == [1]
