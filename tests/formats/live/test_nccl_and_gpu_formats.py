"""NCCL's tools and tables of GPUs: any cut and any bytes are read or refused, in bounded time."""

import random
import re

import orjson
import pytest

from tests.formats.live.examples import LIVE_EXAMPLES
from tests.support.spent import spent_s
from triage.domain.live.look import Look
from triage.errors import ArtifactError
from triage.formats.format import Head
from triage.formats.live import LIVE
from triage.parsers.extract.looks import decode_looks, encode_looks

NAMES = ["inspector", "gpu_table", "gpu_dmon", "amd_smi_usage", "nvidia_smi_table"]
ROWS = [(row, LIVE_EXAMPLES[row.name] * 3) for row in LIVE if row.name in NAMES]
IDS = [row.name for row, _ in ROWS]


def looks(row, text):
    """What a reader makes of a text; None where it refuses it."""
    try:
        found = row.parse(text, "nodes/n3/x_rank_2.json")
    except ArtifactError:
        return None
    assert all(isinstance(one, Look) for one in found)
    assert decode_looks(orjson.loads(orjson.dumps(encode_looks(found)))) == tuple(found)
    return found


def test_all_rows_are_here():
    assert len(ROWS) == len(NAMES)


@pytest.mark.parametrize(("row", "text"), ROWS, ids=IDS)
def test_any_cut_is_read_or_refused(row, text):
    for end in range(0, len(text), max(1, len(text) // 60)):
        looks(row, text[:end])


@pytest.mark.parametrize(("row", "text"), ROWS, ids=IDS)
def test_any_bytes_are_read_or_refused(row, text):
    chance = random.Random(5)
    for _ in range(200):
        characters = list(text)
        for _ in range(chance.randrange(1, 12)):
            characters[chance.randrange(len(characters))] = chance.choice('0f"[]{}:,\x00\u00e9- \n')
        looks(row, "".join(characters))


NUMBER = re.compile(r"(?<![0-9A-Za-z.])\d+(?![0-9A-Za-z.])")


@pytest.mark.parametrize(("row", "text"), ROWS, ids=IDS)
@pytest.mark.parametrize("number", ["9" * 16, "9" * 19, "18446744073709551615", "9" * 30, "-5"])
def test_numbers_of_any_size_can_be_stored(row, text, number):
    places = [match.span() for match in NUMBER.finditer(text)][:60]
    for start, end in places:
        looks(row, text[:start] + number + text[end:])


@pytest.mark.parametrize(("row", "text"), ROWS, ids=IDS)
@pytest.mark.parametrize(
    "filler", ["a" * 400_000, " " * 400_000, "[" * 400_000, "9" * 400_000, "\n" * 400_000]
)
def test_long_foreign_text_takes_no_time(row, text, filler):
    def read() -> None:
        row.claims(Head((text[:40] + filler).encode()[: 64 << 10], "x"))
        looks(row, text[:40] + filler)
        looks(row, text + filler)

    assert spent_s(read, 5.0) < 5


@pytest.mark.parametrize(
    "text",
    [
        "step 3 createT: 5 loss 2.1\n", "{\n  version : 1\n}\n",
        '[{"name": "step", "cat": "COLL"}]',
        '{"header": {"id": 3}, "level": "info"}\n', "# gpu memory\n# Idx\n",
        "index, loss\n0, 2.31\n", '[{"gpu": 0, "ecc": {"total": 0}}]',
    ],
)  # fmt: skip
def test_what_only_resembles_them_is_not_claimed(text):
    head = Head(text.encode(), "x")
    assert [row.name for row in LIVE if row.name in NAMES and row.claims(head)] == []
