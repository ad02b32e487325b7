"""A dump that tells of NCCL's communicators beside the recorder's entries."""

import json

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


@pytest.mark.parametrize(
    ("data", "digests", "refused"),
    [
        pytest.param(dump(), 0, 1, id="an empty recorder is no healthy rank"),
        pytest.param(dump(entries=[ENTRY]), 1, 0, id="both"),
        pytest.param(dump(states={}, entries=[ENTRY]), 1, 0, id="no communicator"),
        pytest.param(dump(states={}), 1, 0, id="an empty recorder without states"),
    ],
)
def test_what_is_a_record(tmp_path, data, digests, refused):
    extract = extracted(tmp_path, data)
    assert (len(extract.digests), len(extract.refused)) == (digests, refused)
    assert extract.logs == extract.refused_logs == ()
