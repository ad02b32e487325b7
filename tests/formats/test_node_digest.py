"""Digests made on a node: the same answer as from dumps, and nothing a dump could not say."""

import random
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import zstandard

from tests.parsers.extract.test_extract import same
from triage.analysis.answer import build_answer, weigh_incident
from triage.domain.exact_json import from_exact_json, to_exact_json
from triage.domain.file_kind import FileKind
from triage.domain.job import Job
from triage.domain.rank_digest import OpDescription, RankDigest
from triage.errors import ArtifactError
from triage.formats.dumps import DumpReader, read_dumps
from triage.formats.extractor import Extractor, describe_operations, make_digest_file
from triage.formats.flight_recorder import NODE_DIGEST
from triage.formats.format import Head
from triage.formats.node_digest import DECODER, FORM, read_node_digest, write_node_digest
from triage.formats.registry import get_stored_kind, identify
from triage.formats.streams import read_logs
from triage.parsers.extract.wire import COMPACT, COMPACT_TIMED, unpack
from triage.parsers.files.inputs import find_inputs
from triage.parsers.flight_recorder.dump_set import DumpSet
from triage.parsers.flight_recorder.limits import DEFAULT_LIMITS
from triage.parsers.flight_recorder.shared import Shared
from triage.render.data import wire
from triage.report import analyze

ROOT = Path(__file__).resolve().parents[1]
P2P = ROOT / "data" / "nccl-p2p-mismatch-w8"
INCIDENTS = sorted(
    path
    for folder in ("data", "incidents")
    for path in (ROOT / folder).iterdir()
    if any(path.rglob("*trace_rank_*"))
)
# More than a rank's usual 4 KB, less than the 8 KB that are promised.
PROMISED_BYTES = 8192


def reader() -> DumpReader:
    return DumpReader(Shared(), DEFAULT_LIMITS)


def digested(folder: Path) -> int:
    """Replace every dump below ``folder`` by its digest; how many there were."""
    made = reader()
    count = 0
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            path.write_bytes(make_digest_file(made, path.read_bytes(), path.name))
            count += 1
        except ArtifactError:
            continue
    return count


@pytest.mark.parametrize("folder", INCIDENTS, ids=lambda path: path.name)
def test_digests_give_the_answer_of_the_dumps_byte_for_byte(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "files"
    shutil.copytree(folder, copy)
    raw = wire.render(analyze(copy).answer)
    count = digested(copy)

    assert wire.render(analyze(copy).answer) == raw
    assert count


def test_a_digest_is_read_as_the_dump_is_and_stays_small() -> None:
    files = find_inputs([P2P]).files
    dumps = [one for one in read_dumps(files).digests if isinstance(one, RankDigest)]
    assert len(dumps) == 8
    for digest in dumps:
        path = next(file.path for file in files if file.artifact == digest.artifact)
        made = make_digest_file(reader(), path.read_bytes(), path.name)
        found, operations = read_node_digest(made)
        assert same(replace(found, artifact=digest.artifact, rank=digest.rank), digest)
        assert operations
        assert len(made) < PROMISED_BYTES


def test_a_service_takes_a_digest_for_a_dump_and_keeps_what_it_says(tmp_path: Path) -> None:
    raw, given = tmp_path / "raw", tmp_path / "given"
    shutil.copytree(P2P, raw)
    shutil.copytree(P2P, given)
    assert digested(given) == 8
    one, other = (Extractor().extract(find_inputs([path]).files) for path in (raw, given))
    for dump, digest in zip(one, other, strict=True):
        assert same(digest.digests, dump.digests)
        assert dict(digest.operations) == dict(dump.operations)
    head = Head(next(path for path in given.rglob("*rank_3")).read_bytes()[:4096], "x")
    found = identify(head, None)
    assert found is not None
    assert get_stored_kind(found, head) is FileKind.FLIGHT_RECORDER


@pytest.mark.parametrize(
    ("first", "word"),
    [
        (b"triage-digest %d %d\n" % (FORM + 1, DECODER), "or have one version"),
        (b"triage-digest %d %d\n" % (FORM, DECODER + 1), "or have one version"),
        (b"triage-digest 1\n", "first line"),
        (b"triage-digest -1 1\n", "first line"),
        (b"triage-digest 9999999999 1\n", "first line"),
    ],
)
def test_a_digest_of_another_version_is_refused_and_says_what_to_send(
    first: bytes, word: str, tmp_path: Path
) -> None:
    made = make_digest_file(reader(), next(P2P.rglob("*rank_3")).read_bytes(), "rank_3")
    (tmp_path / "trace_rank_3").write_bytes(first + made.partition(b"\n")[2])
    (refused,) = read_dumps(find_inputs([tmp_path]).files).refused

    assert word in refused.why
    assert "send the dump itself" in refused.why


def opened(made: bytes) -> tuple[bytes, list, bytes]:
    """The first line, the header as values, and the arrays of a digest."""
    first, _, body = made.partition(b"\n")
    assert body.startswith(COMPACT_TIMED)
    plain = zstandard.ZstdDecompressor().decompress(body[4:])
    begin = 4 + int.from_bytes(plain[:4], "little")
    return first + b"\n", from_exact_json(plain[4:begin]), plain[begin:]


def closed(first: bytes, header: object, arrays: bytes) -> bytes:
    text = to_exact_json(header)
    plain = len(text).to_bytes(4, "little") + text + arrays
    return first + COMPACT_TIMED + zstandard.ZstdCompressor(write_checksum=True).compress(plain)


@pytest.fixture(scope="module")
def made() -> bytes:
    return make_digest_file(reader(), next(P2P.rglob("*rank_3")).read_bytes(), "trace_rank_3")


SCALARS, GROUPS, COUNTERS, NAMES, LAST, STACK, NOTES = range(7)
HUGE = 1 << 70


def scalar(number: int, value: object):
    return lambda header: header[2][0][SCALARS].__setitem__(number, value)


@pytest.mark.parametrize(
    "lie",
    [
        scalar(2, 7), scalar(2, "x" * 600), scalar(3, ["a"]), scalar(4, -1), scalar(4, HUGE),
        scalar(4, True), scalar(5, "9"), scalar(6, 1.5), scalar(7, 1), scalar(8, HUGE),
        scalar(9, -HUGE), scalar(10, "now"), scalar(11, -5), scalar(11, None), scalar(12, None),
        scalar(15, 3), scalar(15, "x" * 600),
        lambda header: header[2][0][GROUPS].append(["9", "9", 4, None]),
        lambda header: header[2][0][GROUPS].append(["9", "9", "d", "0+1*3,0+1*3"]),
        lambda header: header[2][0][GROUPS].append(["9", "9", "d", "0+1*5000000"]),
        lambda header: header[2][0][GROUPS].extend([["9", "n" * 600, "d", None]]),
        lambda header: header[2][0][COUNTERS].append(["9", 1, HUGE, 1]),
        lambda header: header[2][0][COUNTERS].append(["9", 1, "1", 1]),
        lambda header: header[2][0][NAMES].__setitem__(0, [1, None]),
        lambda header: header[2][0][NAMES].__setitem__(0, ["a", "b", "c"]),
        lambda header: header[2][0][LAST].__setitem__(1, HUGE),
        lambda header: header[2][0][LAST].__setitem__(1, None),
        lambda header: header[2][0].__setitem__(STACK, '[["f",3,3]]'),
        lambda header: header[2][0].__setitem__(NOTES, ["n"] * 40),
        lambda header: header[2][0].__setitem__(NOTES, [5]),
        lambda header: header[2].append(header[2][0]),
        lambda header: header.__setitem__(2, []),
        lambda header: header.__setitem__(3, '[[1,"all_reduce","","","",false]]'),
        lambda header: header[6].append(["a", "why"]),
        lambda header: header[8].append(["job.json", "{}"]),
        lambda header: header[9].append("foreign"),
        lambda header: header.pop(),
        lambda header: header.clear(),
    ],
)  # fmt: skip
def test_what_no_dump_says_is_refused(made: bytes, lie) -> None:
    first, header, arrays = opened(made)
    assert read_node_digest(closed(first, header, arrays))  # as it came it is good
    lie(header)
    with pytest.raises(ArtifactError, match="send the dump itself"):
        read_node_digest(closed(first, header, arrays))


def test_a_digest_that_unpacks_to_more_than_any_is_refused(made: bytes) -> None:
    first, header, arrays = opened(made)
    with pytest.raises(ArtifactError, match="larger than any"):
        read_node_digest(closed(first, header, arrays + b"\0" * (9 << 20)))
    with pytest.raises(ArtifactError, match="at most"):
        read_node_digest(made + b"\0" * (2 << 20))


def test_ranks_that_one_file_lists_cost_no_other_its_place(made: bytes, tmp_path: Path) -> None:
    """One budget for what the digests of a job list in common, and a fresh one behind it."""
    first, header, arrays = opened(made)
    good = header[2][0][GROUPS]
    for number in range(4):
        lists = [["9", "9", "d", f"{number}+1*3000000"]]
        header[2][0][GROUPS] = [*good, *lists]
        (tmp_path / f"trace_rank_{number}").write_bytes(closed(first, header, arrays))
    header[2][0][GROUPS] = [*good, ["9", "9", "d", "0+1*5000000"]]
    (tmp_path / "trace_rank_8").write_bytes(closed(first, header, arrays))
    (tmp_path / "trace_rank_9").write_bytes(made)
    found = read_dumps(find_inputs([tmp_path]).files)

    assert [digest.rank for digest in found.digests] == [0, 1, 2, 3, 9]
    assert ["send the dump itself" in one.why for one in found.refused] == [True]


def test_digests_of_one_job_share_the_lists_of_its_groups(tmp_path: Path) -> None:
    shutil.copytree(P2P, tmp_path / "fr")
    digested(tmp_path / "fr")
    found = read_dumps(find_inputs([tmp_path / "fr"]).files).digests
    assert len(found) == 8
    assert len({id(digest.groups[0].ranks) for digest in found}) == 1


def test_words_for_operations_of_others_are_refused() -> None:
    (digest,) = [d for d in read_dumps(find_inputs([P2P]).files).digests if d.rank == 3]
    lying = {7: OpDescription("mine", "", "")}
    with pytest.raises(ArtifactError, match="description"):
        read_node_digest(write_node_digest("a", 1, digest, lying))


def test_what_passes_for_a_digest_never_breaks_the_analysis(made: bytes) -> None:
    """Numbers changed at will: refused, or weighed with the other ranks' dumps."""
    files = find_inputs([P2P]).files
    honest = [one for one in read_dumps(files).digests if one.rank != 3]
    first, header, arrays = opened(made)
    chance = random.Random(5)
    logs = read_logs((), frozenset())
    passed = 0
    for _ in range(150):
        bad = bytearray(arrays)
        for _ in range(chance.choice((1, 4, 40))):
            at = chance.randrange(0, len(bad) - 8)
            value = chance.choice((0, 1, -1, 1 << 62, -(1 << 63), (1 << 63) - 1, 255))
            bad[at : at + 8] = np.int64(value).tobytes()
        try:
            digest, operations = read_node_digest(closed(first, header, bytes(bad)))
        except ArtifactError:
            continue
        passed += 1
        digests = sorted(
            [*honest, replace(digest, artifact="rank_3", rank=3)], key=lambda d: d.rank
        )
        dumps = DumpSet(digests=digests, operations=operations)
        weighed = weigh_incident(dumps, logs, Job())
        wire.render(build_answer(weighed, dumps, logs, Job(), (), ()))
    assert passed > 20


def test_a_stored_digest_stays_as_small_as_it_came(tmp_path: Path) -> None:
    from triage.parsers.extract.wire import pack

    shutil.copytree(P2P, tmp_path / "fr")
    digested(tmp_path / "fr")
    for extract in Extractor().extract(find_inputs([tmp_path / "fr"]).files):
        stored = pack(extract)
        assert stored.startswith((COMPACT, COMPACT_TIMED)) == bool(extract.digests)
        assert same(unpack(stored).digests, extract.digests)


def test_the_maker_says_why_a_dump_goes_as_it_is() -> None:
    for data, why in (
        (b"a line of a log\n", "no plain dump"),
        (b"\x80\x02c", "byte"),
        (b"", "empty"),
    ):
        with pytest.raises(ArtifactError, match=why):
            make_digest_file(reader(), data, "comm_lib_trace_rank_0")
    digest = next(one for one in read_dumps(find_inputs([P2P]).files).digests)
    assert describe_operations([digest], Shared()) == {}
    assert NODE_DIGEST.endswith(b" ")
