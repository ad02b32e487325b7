"""Simulated dumps have the byte habits of PyTorch's own writer, seen in a dump it wrote."""

import pickle
import pickletools
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator import simulate
from simulator.opcodes import put_int, put_memo
from tests.simulator.dumps import job, load

REAL = (Path(__file__).parent / "data" / "real_nccl_p2p_rank_4").read_bytes()
NAME = "comm_lib_trace_rank_"
INTEGERS = {"BININT1", "BININT2", "BININT"}


def simulated(path: Path, kind: str = "host-stall", rank: int = 0, **options: Any) -> bytes:
    options = {"ranks": 8, "tp": 2, "pp": 2, "culprit": 5, "entries": 200, **options}
    simulate(kind, path / "job", **options)
    return (path / "job" / "fr" / f"{NAME}{rank}").read_bytes()


def opcodes(data: bytes) -> list[tuple[str, Any]]:
    return [(code.name, argument) for code, argument, _ in pickletools.genops(data)]


def skeletons(data: bytes, name: str) -> set[tuple[str, ...]]:
    """The opcodes of each completed entry of operation ``name`` but the first, integers alike."""
    codes = opcodes(data)
    memo = {slot: text for (_, text), (put, slot) in pairwise(codes)
            if put in ("BINPUT", "LONG_BINPUT")}  # fmt: skip
    entries: list[list[tuple[str, Any]]] = []
    for code, argument in codes:
        if code == "BINGET" and memo[argument] == "frames":
            entries.append([])
        if entries:
            entries[-1].append((code, memo[argument] if code == "BINGET" else argument))
    return {
        tuple("BININT" if code in INTEGERS else code for code, _ in entry)
        for entry in entries[:-1]
        if ("BINGET", name) in entry and ("BINGET", "completed") in entry
        and all(code not in ("BINUNICODE", "BINPUT") for code, _ in entry)
    }  # fmt: skip


@pytest.mark.parametrize("timing", [True, False])
def test_uses_the_opcodes_of_the_real_writer_alone(timing: bool, tmp_path: Path) -> None:
    found = {code for code, _ in opcodes(simulated(tmp_path, timing=timing))}

    real = {code for code, _ in opcodes(REAL)}
    assert found | {"BINFLOAT"} == real | {"BININT"}


@pytest.mark.parametrize("name", ["nccl:coalesced", "nccl:_reduce_scatter_base"])
def test_an_entry_has_the_opcodes_of_a_real_entry(name: str, tmp_path: Path) -> None:
    data = simulated(tmp_path, "healthy", frames=6, timing=True, entries=400, tp=1)

    assert skeletons(data, name)
    assert skeletons(data, name) == skeletons(REAL, name)


def test_keys_come_in_the_real_order(tmp_path: Path) -> None:
    ours, real = pickle.loads(simulated(tmp_path, timing=True)), pickle.loads(REAL)

    assert list(ours) == list(real)
    assert list(ours["pg_config"]["0"]) == list(real["pg_config"]["0"])
    assert list(ours["pg_status"]["0"]) == list(real["pg_status"]["0"])
    for state in ("completed", "started", "scheduled"):
        assert _keys(ours, state) == _keys(real, state)


def _keys(dump: dict[str, Any], state: str) -> list[str]:
    return next(list(entry) for entry in dump["entries"] if entry["state"] == state)


def test_types_are_those_of_a_real_entry(tmp_path: Path) -> None:
    ours, real = pickle.loads(simulated(tmp_path, timing=True)), pickle.loads(REAL)

    def types(dump: dict[str, Any]) -> dict[str, type]:
        entry = next(entry for entry in dump["entries"] if "duration_ms" in entry)
        return {key: type(value) for key, value in entry.items()}

    assert types(ours) == types(real)


def test_memo_slots_are_given_in_order_and_strings_written_once(tmp_path: Path) -> None:
    codes = opcodes(simulated(tmp_path, frames=120, tp=1, pp=8, entries=600))

    puts = [slot for code, slot in codes if code in ("BINPUT", "LONG_BINPUT")]
    texts = [text for code, text in codes if code == "BINUNICODE"]
    assert puts == list(range(len(puts)))
    assert len(texts) == len(set(texts))
    assert {code for code, slot in codes if code == "BINPUT" and slot > 255} == set()
    assert {"BINPUT", "BINGET"} < {code for code, _ in codes}


@pytest.mark.parametrize("slot", [0, 255, 256, 70_000])
def test_slots_past_255_take_the_long_forms(slot: int) -> None:
    out = np.zeros(16, np.uint8)
    length = put_memo(out, put_memo(out, 0, slot, False), slot, True)

    put, get = opcodes(out[:length].tobytes() + b".")[:-1]
    assert (put, get) == (
        ("BINPUT" if slot < 256 else "LONG_BINPUT", slot),
        ("BINGET" if slot < 256 else "LONG_BINGET", slot),
    )


@pytest.mark.parametrize("value", [0, 255, 256, 65_535, 65_536, -1, 2**31 - 1, 2**31, 2**60])
def test_integers_take_the_shortest_form(value: int) -> None:
    out = np.zeros(16, np.uint8)
    data = b"\x80\x02" + out[: put_int(out, 0, value)].tobytes() + b"."

    assert pickle.loads(data) == value
    width = 1 if 0 <= value < 256 else 2 if 0 <= value < 65_536 else 4 if value < 2**31 else 9
    assert len(data) == 4 + width


def test_equal_frames_are_one_object(tmp_path: Path) -> None:
    entries = pickle.loads(simulated(tmp_path))["entries"]

    frames = [frame for entry in entries for frame in entry["frames"]]
    assert len({id(frame) for frame in frames}) == len({tuple(f.items()) for f in frames})


def test_members_of_a_block_stay_scheduled_and_the_closer_repeats_their_numbers(
    tmp_path: Path,
) -> None:
    entries = pickle.loads(simulated(tmp_path, "healthy", timing=True))["entries"]

    closers = [
        at for at, entry in enumerate(entries) if entry["profiling_name"].endswith("coalesced")
    ]
    assert closers
    for at in closers[1:]:
        closer, member = entries[at], entries[at - 1]
        assert (closer["is_p2p"], closer["input_sizes"], closer["state"]) == (
            False,
            [],
            "completed",
        )
        assert (member["is_p2p"], member["state"], member["retired"]) == (True, "scheduled", False)
        assert member["time_discovered_started_ns"] is None
        assert "duration_ms" not in member
        for key in ("p2p_seq_id", "op_id", "collective_seq_id"):
            assert closer[key] == member[key]


def test_stamps_are_those_of_the_watchdog(tmp_path: Path) -> None:
    with_timing = pickle.loads(simulated(tmp_path / "a", "healthy", timing=True))["entries"]
    without = pickle.loads(simulated(tmp_path / "b", "healthy"))["entries"]

    for entry in with_timing:
        if entry["retired"]:
            started, ended = (
                entry[f"time_discovered_{which}_ns"] for which in ("started", "completed")
            )
            assert ended - started == 20
            assert 0 < ended - entry["time_created_ns"] < 1e9
            assert entry["duration_ms"] > 0
    assert all(entry["time_discovered_started_ns"] is None for entry in without)
    assert all("duration_ms" not in entry for entry in without)


def test_counters_without_timing_say_nothing_of_starts(tmp_path: Path) -> None:
    status = pickle.loads(simulated(tmp_path))["pg_status"]

    assert {row["last_started_collective"] for row in status.values()} == {-1}


def test_a_ring_keeps_the_newest_entries(tmp_path: Path) -> None:
    entries = pickle.loads(simulated(tmp_path, steps=50, entries=77))["entries"]

    assert len(entries) == 77
    first = entries[0]["record_id"]
    assert first > 0
    assert [entry["record_id"] for entry in entries] == list(range(first, first + 77))


def test_numbers_go_on_from_the_first_step(tmp_path: Path) -> None:
    whole = pickle.loads(simulated(tmp_path / "a", steps=6, entries=5000))["entries"]
    ring = pickle.loads(simulated(tmp_path / "b", steps=6, entries=100))["entries"]

    assert whole[0]["record_id"] == 0
    keys = ("record_id", "collective_seq_id", "p2p_seq_id", "op_id", "profiling_name")
    tail = [[entry[key] for key in keys] for entry in whole[-100:]]
    assert [[entry[key] for key in keys] for entry in ring] == tail


def test_only_active_drops_what_has_ended(tmp_path: Path) -> None:
    _, dumps = job(tmp_path, "host-stall", only_active=True, culprit=3)

    states = {entry["state"] for dump in dumps.values() for entry in dump["entries"]}
    assert states == {"scheduled"}
    assert all(entry["is_p2p"] for entry in dumps[3]["entries"])


@pytest.mark.parametrize(
    ("version", "library", "threads"),
    [
        ("2.10", "comm_lib_version", True),
        ("2.8", "comm_lib_version", False),
        ("2.7", "nccl_version", False),
        ("2.4", None, False),
    ],
)
def test_older_formats_lack_what_came_later(
    version: str, library: str | None, threads: bool, tmp_path: Path
) -> None:
    dump = pickle.loads(simulated(tmp_path, version=version))

    assert dump["version"] == version
    assert [key for key in dump if key.endswith("version")] == [
        "version",
        *([library] * bool(library)),
    ]
    assert ("thread_id" in dump["entries"][0]) is threads


def test_no_stacks_no_key(tmp_path: Path) -> None:
    assert "frames" not in pickle.loads(simulated(tmp_path, frames=0))["entries"][0]


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    options: dict[str, Any] = {"ranks": 8, "entries": 100, "skew_ms": 40.0, "cut": [2]}
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        simulate("straggler", tmp_path / name, seed=seed, **options)

    def content(name: str) -> dict[str, bytes]:
        files = (path for path in (tmp_path / name).rglob("*") if path.is_file())
        return {str(path.relative_to(tmp_path / name)): path.read_bytes() for path in files}

    assert content("a") == content("b")
    assert content("a") != content("c")
    assert len(load(tmp_path / "a")) == 7
