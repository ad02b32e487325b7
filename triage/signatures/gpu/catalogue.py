"""The Xid and SXid catalogues: what an error number of the NVIDIA drivers means to us.

The tables are data (``xid.toml``, ``sxid.toml``; their heads say what each key
means, and more of them is for people) and are read when the first such line is met.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from triage.domain.category import Category
from triage.domain.evidence import EvidenceRole
from triage.domain.toml_tables import read_toml


@dataclass(frozen=True, slots=True)
class Entry:
    """What a catalogue says of a code; ``reach`` is of the NVSwitch driver's alone."""

    code: int
    meaning: str
    category: Category | None
    also: tuple[Category, ...]
    role: EvidenceRole
    severity: str
    reach: str


@cache
def load_codes(name: str) -> Mapping[int, Entry]:
    """A whole catalogue by code."""
    return {
        int(code): Entry(
            int(code),
            row["meaning"],
            Category(row["category"]) if row["category"] else None,
            tuple(map(Category, row.get("also", ()))),
            EvidenceRole(row.get("role", "root")),
            row["severity"],
            row.get("reach", "none"),
        )
        for code, row in read_toml("triage.signatures.gpu", name)[name].items()
    }


def get_xid(code: int) -> Entry | None:
    """What an error number of the GPU driver means, None for one that the catalogue lacks."""
    return load_codes("xid").get(code)


def get_sxid(code: int) -> Entry | None:
    """As :func:`get_xid`, of the NVSwitch driver."""
    return load_codes("sxid").get(code)
