"""What a dump comes to is what the standard unpickler sees, however it is spelled."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.parsers.flight_recorder.dumps import (
    BORN,
    DATA,
    DECODER,
    REAL,
    SPELLINGS,
    Recorder,
    decode,
    differences,
    json_form,
)
from tests.parsers.flight_recorder.strategies import changed, recorders
from tests.support.spent import spent_s
from triage.domain import rank_digest as rd
from triage.errors import ArtifactError, Corrupt, Forbidden
from triage.parsers.flight_recorder import columns as col

# Fields that JSON lacks, and what follows from them.
NOT_IN_JSON = ("stack", "comm_lib")
STATES = ("scheduled", "started", "completed")
INTEGERS = {
    "record_id": col.RECORD_ID, "pg_id": col.PG_ID, "collective_seq_id": col.COLLECTIVE_SEQ,
    "p2p_seq_id": col.P2P_SEQ, "op_id": col.OP_ID, "time_created_ns": col.CREATED,
    "time_discovered_started_ns": col.STARTED, "time_discovered_completed_ns": col.COMPLETED,
    "timeout_ms": col.TIMEOUT, "retired": col.RETIRED, "is_p2p": col.IS_P2P,
}  # fmt: skip


def relative(path: Path) -> str:
    return str(path.relative_to(DATA))


def seen_by_us(data: bytes) -> list[dict[str, Any]]:
    """The entries as the decoder's columns hold them."""
    digest = decode(data)
    rows = DECODER.entries[: digest.num_entries]
    found = []
    for row in rows.tolist():
        entry: dict[str, Any] = {
            key: None if row[at] == rd.MISSING else row[at] for key, at in INTEGERS.items()
        }
        entry["state"] = STATES[row[col.STATE]]
        entry["profiling_name"] = DECODER.short_text(row[col.NAME])
        entry["process_group"] = (
            DECODER.short_text(row[col.PG_NAME]), DECODER.short_text(row[col.PG_DESC]),
        )  # fmt: skip
        for key, at in (("input_sizes", col.INPUT_SIZES), ("output_dtypes", col.OUTPUT_DTYPES)):
            entry[key] = DECODER.plain(5, row[at], 2)
        found.append(entry)
    return found


def seen_by_pickle(data: bytes) -> list[dict[str, Any]]:
    kept = (*INTEGERS, "state", "profiling_name", "process_group", "input_sizes", "output_dtypes")
    return [{key: entry[key] for key in kept} for entry in pickle.loads(data)["entries"]]


@pytest.mark.parametrize("path", REAL, ids=relative)
def test_a_real_dump_holds_what_pickle_finds_in_it(path: Path) -> None:
    data = path.read_bytes()

    assert seen_by_us(data) == seen_by_pickle(data)


@pytest.mark.parametrize(
    ("written", "us"),
    [
        (1.5, 1500), (0, 0), (12, 12_000), (0.0004, 0), (2e6, 2_000_000_000),
        (3e6, -1), (-1.0, -1), (float("nan"), -1), (float("inf"), -1), ("5", -1), (None, -1),
    ],
)  # fmt: skip
def test_a_duration_is_whole_microseconds_and_what_is_none_is_left_out(
    written: object, us: int
) -> None:
    recorder = Recorder()
    recorder.collective()["duration_ms"] = 2.25
    recorder.collective()["duration_ms"] = written
    recorder.collective()

    lasted = decode(pickle.dumps(recorder.value(), 2)).history.read().lasted_us
    assert lasted is not None
    assert lasted.tolist() == [2250, us, -1]


def test_a_dump_without_timing_has_no_durations() -> None:
    recorder = Recorder()
    recorder.collective()

    digest = decode(pickle.dumps(recorder.value(), 2))
    assert digest.history.read().lasted_us is None
    assert not digest.history.timed


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("path", REAL, ids=relative)
def test_a_real_dump_written_again_comes_to_the_same(path: Path, spelling: str) -> None:
    original = path.read_bytes()

    again = decode(SPELLINGS[spelling](pickle.loads(original)))

    ignored = ("notes",) if spelling == "zeros behind" else ()
    assert differences(decode(original), again, *ignored) == []


@pytest.mark.parametrize("path", REAL, ids=relative)
def test_a_real_dump_as_json_comes_to_the_same(path: Path) -> None:
    original = path.read_bytes()

    assert differences(decode(original), decode(json_form(pickle.loads(original))), "stack") == []


def test_the_json_that_pytorch_wrote_agrees_with_its_pickle() -> None:
    folder = DATA / "nccl-healthy-w8"
    one = decode((folder / "comm_lib_trace_rank_0").read_bytes())
    other = decode((folder / "fr_trace_rank_0.json").read_bytes())

    # Dumped a moment apart: what was in flight has moved on.
    assert one.groups == other.groups
    assert one.version == other.version == "2.10"
    assert one.num_entries == other.num_entries
    assert np.array_equal(one.history.read().sig, other.history.read().sig)
    assert np.array_equal(one.history.read().created, other.history.read().created)


@settings(max_examples=150, deadline=None)
@given(recorders())
def test_every_spelling_of_a_random_dump_comes_to_the_same(recorder: Recorder) -> None:
    value = recorder.value()
    first = decode(pickle.dumps(value, 2))

    assert seen_by_us(pickle.dumps(value, 2)) == seen_by_pickle(pickle.dumps(value, 2))
    for name, spell in SPELLINGS.items():
        ignored = ("notes",) if name == "zeros behind" else ()
        assert differences(first, decode(spell(value)), *ignored) == [], name
    assert differences(first, decode(json_form(value)), "stack") == []


def refusal(data: bytes) -> ArtifactError | None:
    """Why the bytes are refused; any other exception is the test's end."""
    try:
        decode(data)
    except ArtifactError as error:
        return error
    return None


@settings(max_examples=400, deadline=None)
@given(st.data(), st.sampled_from(REAL))
def test_a_damaged_dump_is_read_or_refused_and_nothing_else(data: Any, path: Path) -> None:
    damaged = data.draw(changed(path.read_bytes()[: data.draw(st.integers(500, 40_000))]))

    refused = refusal(damaged)
    if refused is not None:
        assert len(refused.why) > 10
        assert refused.offset is None or 0 <= refused.offset <= len(damaged)
    # Once more: the first time something may have been compiled.
    assert spent_s(lambda: refusal(damaged), 2.0) < 2


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_json_is_read_or_refused_and_nothing_else(data: Any) -> None:
    recorder = data.draw(recorders(8))
    damaged = data.draw(changed(json_form(recorder.value())))

    refused = refusal(damaged)

    assert refused is None or refused.offset is None or refused.offset <= len(damaged)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_noise_is_refused(noise: bytes) -> None:
    for head in (b"\x80\x02", b"\x80\x04}(", b"{", b""):
        refusal(head + noise)


def test_an_opcode_that_dumps_do_not_use_is_refused_with_its_place() -> None:
    used = set(b"\x80\x95})](NKMJG\x88\x89\x8a\x8b\x8c\x8d\x8ehjqr\x94XutesaX.\x85\x86\x87") - {
        0x8E
    }
    for opcode in range(256):
        data = b"\x80\x02}(" + bytes([opcode]) + b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa."
        if opcode == 0:
            data = data[:5] + b"\x01" + data[5:]

        with pytest.raises(ArtifactError) as refused:
            decode(data)

        if opcode not in used:
            assert refused.value.why == f"opcode 0x{opcode:02x} is not one that dumps use"
            assert refused.value.offset == 4
            assert isinstance(refused.value, Forbidden)


# Format versions.


def as_version(value: dict[str, Any], version: str | None) -> Any:
    """The value of ``Recorder`` as an older or newer recorder writes it."""
    number = tuple(int(part) for part in version.split(".")) if version else (0, 0)
    entries = []
    for entry in value["entries"]:
        old = dict(entry)
        if number < (2, 10):
            del old["thread_id"], old["thread_name"]
        if number < (2, 3):
            del old["timeout_ms"]
        if number < (2, 2):
            del old["is_p2p"]
        if number < (2, 1):
            del old["input_dtypes"], old["output_dtypes"]
        if number < (2, 0):
            p2p = old["profiling_name"].startswith(("nccl:send", "nccl:recv"))
            old["seq_id"] = old["p2p_seq_id"] if p2p else old["collective_seq_id"]
            del old["process_group"], old["collective_seq_id"], old["p2p_seq_id"]
        if number < (1, 4):
            del old["op_id"]
        if number < (1, 1):
            old["time_created_us"] = old.pop("time_created_ns") // 1000
        entries.append(old)
    if version is None:
        return entries
    top = {**value, "version": version, "entries": entries}
    if number < (2, 8):
        top["nccl_version"] = top.pop("comm_lib_version")
    if number < (2, 6):
        del top["nccl_version"]
    if number < (2, 3):
        del top["pg_status"]
    if number < (2, 0):
        names = list(value["pg_config"])
        top["pg_config"] = {
            number: {key: item for key, item in row.items() if key != "name"}
            for number, row in enumerate(top["pg_config"][name] for name in names)
        }
    if number < (1, 2):
        del top["pg_config"]
    return top


VERSIONS = [
    None, "1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "2.0", "2.1", "2.2", "2.3", "2.4", "2.5",
    "2.6", "2.7", "2.8", "2.9", "2.10", "2.99", "3.0",
]  # fmt: skip


def stopped() -> dict[str, Any]:
    recorder = Recorder()
    recorder.collective()
    recorder.collective("broadcast", "1")
    recorder.collective("all_reduce", "0", done=False)
    return recorder.value()


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_a_dump_of_any_version_says_where_its_rank_stands(version: str | None) -> None:
    data = pickle.dumps(as_version(stopped(), version), 2)

    digest = decode(data)

    assert digest.version == version
    assert digest.num_entries == 3
    assert digest.history.read().seq.tolist() == [1, 1, 2]
    assert digest.pending_total == 1
    assert len(digest.stream_names) == 2
    assert digest.first_created_ns == BORN
    newer = version in ("2.99", "3.0")
    assert digest.notes == (
        (f"dump format {version} is newer than those known (up to 2.10)",) if newer else ()
    )
    if version and tuple(map(int, version.split("."))) >= (1, 2):
        assert [row.ranks for row in digest.groups] == [(0, 1, 2, 3), (0, 1)]
    assert digest.comm_lib == ("2.27.5" if version in VERSIONS[-7:] or version == "2.6" else None)


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_the_json_of_any_version_comes_to_the_same(version: str | None) -> None:
    value = as_version(stopped(), version)

    assert differences(decode(pickle.dumps(value, 4)), decode(json_form(value)), "stack") == []


def test_an_only_active_dump_of_an_idle_rank_is_read() -> None:
    digest = decode(pickle.dumps({**stopped(), "entries": []}, 2))

    assert digest.has_entries
    assert (digest.num_entries, digest.pending_total) == (0, 0)


def test_an_only_active_dump_says_that_entries_are_missing_between() -> None:
    value = stopped()
    del value["entries"][1]

    assert decode(pickle.dumps(value, 2)).gaps


def test_json_leaves_the_key_out_when_nothing_was_recorded() -> None:
    value = {key: item for key, item in stopped().items() if key != "entries"}

    digest = decode(pickle.dumps(value, 2))

    assert not digest.has_entries
    assert digest.groups[0].ranks == (0, 1, 2, 3)


def test_a_dump_without_frames_has_no_stack() -> None:
    value = stopped()
    for entry in value["entries"]:
        del entry["frames"]

    digest = decode(pickle.dumps(value, 2))

    assert digest.stack == ()
    assert differences(decode(pickle.dumps(stopped(), 2)), digest, "stack") == []


def test_the_stack_is_that_of_the_oldest_unfinished_operation() -> None:
    value = stopped()
    value["entries"][-1]["frames"] = [{"name": "stuck", "filename": "loss.py", "line": 7}]

    assert str(decode(pickle.dumps(value, 2)).stack[0]) == "stuck at loss.py:7"


@pytest.mark.parametrize(
    "extra",
    [
        {"health_check_results": [1, {"a": "b"}]},
        {"nccl_comm_state": {"0xabc": {"x": "1"}}},
        {"rank": 3, "hostname": "node-7"},
    ],
    ids=lambda one: next(iter(one)),
)
def test_keys_that_tools_add_change_nothing(extra: dict[str, Any]) -> None:
    plain = decode(pickle.dumps(stopped(), 2))

    for value in ({**stopped(), **extra}, {**extra, **stopped()}):
        assert differences(plain, decode(pickle.dumps(value, 4))) == []
        assert differences(plain, decode(json_form(value)), "stack") == []


def test_the_empty_group_table_of_gloo_is_read() -> None:
    value = stopped()
    value["pg_config"] = {"": {"name": "", "desc": "", "ranks": "[]"}}
    for entry in value["entries"]:
        entry.update(profiling_name="gloo:all_reduce", state="scheduled", retired=entry["retired"],
                     time_discovered_started_ns=None,
                     time_discovered_completed_ns=None)  # fmt: skip

    digest = decode(pickle.dumps(value, 2))

    assert digest.eventless
    assert digest.groups[0].ranks == ()
    assert digest.pending_total == 1


@pytest.mark.parametrize("p2p", [True, False], ids=["p2p", "collective"])
@pytest.mark.parametrize("done", [True, False], ids=["finished", "unfinished"])
def test_a_coalesced_block_is_one_operation(p2p: bool, done: bool) -> None:
    recorder = Recorder()
    recorder.collective()
    recorder.block(3, done=done, p2p=p2p)

    digest = decode(pickle.dumps(recorder.value(), 2))

    assert digest.num_entries == 5
    assert len(digest.history) == 2
    assert digest.pending_total == (0 if done else 1)
    assert not digest.block_open
    flags = int(digest.history.read().flags[-1])
    assert bool(flags & rd.P2P) == p2p
    assert flags & rd.COALESCED
    if p2p and not done:
        assert [one.peer for one in digest.members] == [3, 2, 1]
        assert [one.send for one in digest.members] == [0, 1, 0]


@pytest.mark.parametrize("p2p", [True, False], ids=["p2p", "collective"])
def test_a_block_without_its_closer_was_being_built(p2p: bool) -> None:
    recorder = Recorder()
    recorder.collective()
    recorder.block(3, p2p=p2p, closed=False)

    digest = decode(pickle.dumps(recorder.value(), 2))

    assert digest.block_open
    assert len(digest.history) == 1


def test_a_closer_whose_members_have_left_the_ring_stands_alone() -> None:
    recorder = Recorder()
    recorder.block(2, p2p=True)
    recorder.collective()
    value = recorder.value()
    del value["entries"][:2]

    digest = decode(pickle.dumps(value, 2))

    assert len(digest.history) == 2
    assert int(digest.history.read().flags[0]) & rd.P2P


# Refusals in words.


@pytest.mark.parametrize(
    ("data", "kind", "why", "offset"),
    [
        (b"", Corrupt, "empty", None),
        (b"\x80\x02", Corrupt, "cut off before", 0),
        (b"\x80\x00(dp0\n.", Forbidden, "protocol 0", 1),
        (b"\x80\x02cos\nsystem\n.", Forbidden, "opcode 0x63", 2),
        (b"\x80\x02]q\x05.", Forbidden, "memo index 5", 3),
        (b"\x80\x02K\x01.", Corrupt, "neither a dict nor a list", None),
        (b"\x80\x02}.", Corrupt, '"entries"', None),
        (b"{", Corrupt, "not valid JSON", 1),
        (b"[" * 30, Forbidden, "nested 30 deep", None),
    ],
    ids=lambda value: value.decode("latin-1")[:12] if isinstance(value, bytes) else None,
)
def test_a_refusal_says_what_and_where(
    data: bytes, kind: type, why: str, offset: int | None
) -> None:
    with pytest.raises(kind) as refused:
        decode(data)

    assert why in refused.value.why
    assert refused.value.offset == offset


def test_a_value_of_the_wrong_type_is_left_out_and_named() -> None:
    value = stopped()
    value["entries"][1]["timeout_ms"] = "soon"

    [note] = decode(pickle.dumps(value, 2)).notes

    assert "1 values" in note
    assert 'entry 1, "timeout_ms"' in note


def test_one_decoder_forgets_the_dump_before() -> None:
    small, large = pickle.dumps(stopped(), 2), REAL[0].read_bytes()
    first = decode(small)
    decode(large)
    with pytest.raises(ArtifactError):
        decode(b"\x80\x02cos\n")
    decode(large[: len(large) // 2])

    assert differences(first, decode(small)) == []
