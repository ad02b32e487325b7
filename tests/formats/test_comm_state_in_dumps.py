"""A dump that tells of communicators is read by both readers, wherever it lies."""

import gzip
import io
import json
import tarfile

import pytest

from triage.formats.extractor import Extractor
from triage.parsers.files.inputs import InputFile

STATES = {
    "0x1f": {
        "commHash": "1f", "rank": "2", "nRanks": "4", "commDesc": '"default_pg"',
        "CT_pastColls": '[{"opCount": 41, "coll": "AllReduce"}]', "CT_currentColls": "[]",
    }
}  # fmt: skip
ENTRY = {
    "record_id": 1, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 1,
    "p2p_seq_id": 0, "op_id": 1, "profiling_name": "nccl:all_reduce", "state": "completed",
    "is_p2p": False, "retired": True, "input_sizes": [[1]], "output_sizes": [[1]],
    "time_created_ns": 1_790_000_000_000_000_000, "timeout_ms": 600_000,
}  # fmt: skip


def dump(states=STATES, entries=()):
    value = {"comm_lib_version": "", "entries": list(entries), "nccl_comm_state": states}
    return json.dumps({**value, "pg_config": {}, "pg_status": {}, "version": "2.10"}).encode()


def extracted(tmp_path, data, name="fr_rank_2.json"):
    path = tmp_path / name
    path.write_bytes(data)
    (extract,) = Extractor().extract([InputFile(path, name, len(data))])
    return extract


def num_looks(extract):
    return sum(len(log.looks) for log in extract.logs)


@pytest.mark.parametrize(
    ("data", "digests", "looks"),
    [
        pytest.param(dump(), 0, 1, id="an empty recorder is no healthy rank"),
        pytest.param(dump(entries=[ENTRY]), 1, 1, id="both"),
        pytest.param(dump(entries=[ENTRY] * 400), 1, 1, id="the states stand behind 64 KiB"),
        pytest.param(dump(states={}, entries=[ENTRY]), 1, 0, id="no communicator"),
        pytest.param(dump(states={}), 1, 0, id="an empty recorder without states"),
    ],
)
def test_who_reads_it(tmp_path, data, digests, looks):
    extract = extracted(tmp_path, data)
    assert (len(extract.digests), num_looks(extract)) == (digests, looks)
    assert extract.refused == extract.refused_logs == ()


def test_a_packed_one_is_read_alike(tmp_path):
    extract = extracted(tmp_path, gzip.compress(dump(entries=[ENTRY])), "fr_rank_2.json.gz")
    assert (len(extract.digests), num_looks(extract)) == (1, 1)


def test_a_member_of_an_archive_is_read_alike(tmp_path):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("fr/fr_rank_2.json")
        member.size = len(dump(entries=[ENTRY]))
        archive.addfile(member, io.BytesIO(dump(entries=[ENTRY])))
    extract = extracted(tmp_path, packed.getvalue(), "incident.tar")
    assert (len(extract.digests), num_looks(extract)) == (1, 1)


def test_the_look_is_kept_in_what_is_stored(tmp_path):
    from triage.parsers.extract.looks import decode_looks, encode_looks

    extract = extracted(tmp_path, dump())
    looks = extract.logs[0].looks
    assert decode_looks(json.loads(json.dumps(encode_looks(looks)))) == tuple(looks)
    assert looks[0].communicators[0].ranks[0].launched == {"all": 42}
