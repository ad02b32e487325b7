"""Any text is data: a number of thousands of digits in a line is read or passed over."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from triage.parsers.logs.catalogue import get_standard
from triage.parsers.logs.envelope import read_envelope
from triage.parsers.logs.rows import read_line
from triage.report import analyze, read_rows
from triage.signatures import registry
from triage.signatures.signature import Signature

# Python refuses to read an integer of more than 4,300 digits.
DIGITS = "9" * 5000
NUMBER = re.compile(r"\d+")
# What the rest of the product takes for numbers.
COUNTED = ("code", "parent_code", "rank", "local_rank", "cuda_device", "pid", "seq_id")
PREFIXES = (
    "[rank{n}]: ", "[{n}.{n}] ", "<{n}>", "{n}: ", "[{n},{n}]<stdout>:", "n3:{n}:{n} [{n}] ",
    "[rank{n}]:[E{n} {n}:{n}:{n}.{n} x.cpp:{n}] ", "{n}-{n}-{n}T{n}:{n}:{n}Z ", "[default{n}]:",
    "Nov {n} {n}:{n}:{n} n3 kernel: [{n}.{n}] ", "(W pid={n}, ip={n}.{n}.{n}.{n}) ", "{n},{n},{n};",
    "[PG ID {n} PG GUID {n} Rank {n}] ", "E{n} {n}:{n}:{n} {n} x.py:{n}] ", "[{n}]: ",
)  # fmt: skip
ALL = registry.load_all_signatures()


def variants(hit: str) -> list[str]:
    """``hit`` with each of its numbers in turn, and all of them, of 5,000 digits."""
    found = list(NUMBER.finditer(hit))
    one_by_one = [hit[: one.start()] + DIGITS + hit[one.end() :] for one in found[:4]]
    return [*one_by_one, NUMBER.sub(DIGITS, hit)]


def every_variant(signature: Signature) -> list[str]:
    return [text for hit in signature.matches for text in variants(hit)]


@pytest.mark.parametrize("family", registry.load_families(), ids=lambda of: of[0].id)
def test_a_long_number_is_no_error(family: Sequence[Signature]) -> None:
    catalogue = get_standard()
    for signature, text in ((one, text) for one in family for text in every_variant(one)):
        line, *after = text.split("\n")
        found = signature.pattern.search(line[:8192])
        if found is not None:
            groups = found.groupdict()
            counted = [groups.get(name) or "" for name in COUNTED]
            long = [word for word in counted if word.isdecimal() and len(word) > 20]
            assert not long, (signature.id, groups)
            if signature.read is not None:
                signature.read(found, after)
        read_line(line, lambda: map(read_envelope, after), catalogue, "job.log", 1)  # noqa: B023


def test_a_file_of_long_numbers_is_analysed(tmp_path: Path) -> None:
    lines = [text for one in ALL for text in variants(one.matches[0])[-1:]]
    path = tmp_path / "job.log"
    path.write_text("\n".join(lines) + "\n")

    assert list(read_rows([path]))
    assert analyze([path]).to_dict()["schema"]


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("digits", [DIGITS, "9" * 25, "٣", "²"], ids=["5000", "25", "other", "up"])
def test_a_long_number_in_a_prefix_is_no_error(tmp_path: Path, prefix: str, digits: str) -> None:
    one = prefix.replace("{n}", digits)
    message = '{"ts": N, "rank": N, "pid": N, "message": "CUDA error: out of memory"}'
    path = tmp_path / "job.log"
    path.write_text(f"{one}CUDA error: out of memory\n{message.replace('N', digits)}\n" * 3)

    list(read_rows([path]))
    assert analyze([path]).to_dict()["schema"]
