"""The part that somebody's words name: an agent's report, a person's reason, a script's message.

Agents (NVSentinel, gpud) read what drivers and DCGM print and word it anew. A number of the
driver (Xid) says the part as in the driver's own line; what the driver prints as a consequence,
or as advice, warns.
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final

from triage.domain.category import Category
from triage.domain.evidence import EvidenceRole
from triage.domain.patterns import compile_re
from triage.signatures.gpu.catalogue import get_sxid, get_xid
from triage.signatures.host.agent_words import find_gpu_fields, find_part
from triage.signatures.pci import normalize_bus_id

# "XID 79 (GPU has fallen off the bus) detected on GPU-6b1f...", "ErrorCode:79"
XID: Final = compile_re(r"\b(s?)xid[ _:=#-]{0,3}(?:error[ :=]{0,2})?(\d{1,5})\b", re.IGNORECASE)
_DCGM_NAME: Final = compile_re(r"\bDCGM_FR_([A-Z0-9_]{3,60})")
UUID: Final = compile_re(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_DIGITS: Final = compile_re(r"\d{1,4}", re.ASCII)


class Words:
    """Patterns in the order in which they are looked for, each with the part that it names."""

    def __init__(self, rows: Iterable[Sequence[str]]) -> None:
        self.rows = [(compile_re(one, re.IGNORECASE), Category(part)) for one, part in rows]

    def category_in(self, text: str) -> Category | None:
        """The part of the first pattern that is found; None where none is."""
        return next((category for pattern, category in self.rows if pattern.search(text)), None)


_WORDS: Final = tomllib.loads(files(__package__).joinpath("complaints.toml").read_text("utf-8"))
_DCGM_PARTS: Final = Words(_WORDS["dcgm_errors"])
_PLAIN: Final = Words(_WORDS["plain"])


@dataclass(frozen=True, slots=True)
class Complaint:
    """The part that a report is about; ``follows`` where it is only what a fault brings along.

    ``gpu`` is ``dddd:bb:dd``, ``gpu 3`` or a uuid, as far as the words name one.
    """

    category: Category | None = None
    follows: bool = False
    gpu: str | None = None


@lru_cache(maxsize=4096)
def classify_complaint(words: str, codes: tuple[str, ...] = ()) -> Complaint:
    """What some words complain of; ``codes`` are numbers or names of errors beside them.

    >>> complaint_of("GPU has fallen off the bus", ("79",)).category
    <Category.GPU: 'gpu'>
    """
    gpu = _find_named_gpu(words)
    for code in codes:
        entry = get_xid(int(code)) if _DIGITS.fullmatch(code) else None
        if entry is not None and entry.category is not None:
            return Complaint(entry.category, entry.role is not EvidenceRole.ROOT, gpu)
        if (category := _find_dcgm_category(code)) is not None:
            return Complaint(category, gpu=gpu)
    number = XID.search(words)
    if number is not None:
        known = (get_sxid if number[1] else get_xid)(int(number[2]))
        if known is not None and known.category is not None:
            return Complaint(known.category, known.role is not EvidenceRole.ROOT, gpu)
    if (category := _find_dcgm_category(words)) is not None:
        return Complaint(category, gpu=gpu)
    part = find_part(words)
    return Complaint(part.category, part.after_the_job, gpu)


def find_category(text: str) -> Category | None:
    """The part that a person or a script names in plain words; None where they name none."""
    return _PLAIN.category_in(text)


def classify_plain_words(words: str) -> Complaint:
    """The part in a script's words: as agents word it, else as people do."""
    complaint = classify_complaint(words)
    if complaint.category in (None, Category.GPU):
        return Complaint(
            find_category(words) or complaint.category, complaint.follows, complaint.gpu
        )
    return complaint


def _find_dcgm_category(words: str) -> Category | None:
    """The part of the first DCGM error that some words name."""
    found = _DCGM_NAME.search(words)
    return None if found is None else _DCGM_PARTS.category_in(found[1]) or Category.GPU


def _find_named_gpu(words: str) -> str | None:
    gpu, fields = find_gpu_fields(words[:1000])
    if gpu is not None:
        return gpu
    if "gpu_uuid" in fields:
        return fields["gpu_uuid"]
    return f"gpu {fields['gpu_index']}" if "gpu_index" in fields else None


def format_gpu_part(value: str) -> str | None:
    """``0000:6d:00`` of an address, ``gpu 3`` of a number, else a uuid; None for other words."""
    address = normalize_bus_id(value) if ":" in value else None
    if address is not None:
        return address
    if UUID.fullmatch(value.strip()):
        return value.strip()
    return f"gpu {int(value)}" if _DIGITS.fullmatch(value.strip()) else None
