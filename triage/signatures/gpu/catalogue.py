"""The Xid and SXid catalogues: what an error number of the NVIDIA drivers means to us.

The tables are data (``xid.toml``, ``sxid.toml``; their heads say what each key
means) and are read when the first such line is met.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from triage.domain.category import Category
from triage.domain.evidence import EvidenceRole


@dataclass(frozen=True, slots=True)
class Entry:
    """What both catalogues say of a code."""

    code: int
    mnemonic: str
    meaning: str
    category: Category | None
    also: tuple[Category, ...]
    role: EvidenceRole
    severity: str
    hardware: str
    action: str
    parents: tuple[int, ...]
    where: str
    disputed: str
    note: str


@dataclass(frozen=True, slots=True)
class Xid(Entry):
    """An error number of the GPU driver; ``clears`` are the codes that it takes back."""

    clears: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SXid(Entry):
    """An error number of the NVSwitch driver; its ``parents`` are Xids of the GPU at the port."""

    prints: str = "plain"
    reach: str = "none"


@cache
def load_xids() -> Mapping[int, Xid]:
    """The whole Xid catalogue by code."""
    return {
        int(code): Xid(**read_shared(int(code), row), clears=tuple(row.get("clears", ())))
        for code, row in _load_rows("xid").items()
    }


@cache
def load_sxids() -> Mapping[int, SXid]:
    """The whole SXid catalogue by code."""
    return {
        int(code): SXid(**read_shared(int(code), row), prints=row["prints"], reach=row["reach"])
        for code, row in _load_rows("sxid").items()
    }


def get_xid(code: int) -> Xid | None:
    """What ``code`` means, None for a number that the catalogue does not hold."""
    return load_xids().get(code)


def get_sxid(code: int) -> SXid | None:
    """What ``code`` means, None for a number that the catalogue does not hold."""
    return load_sxids().get(code)


def _load_rows(name: str) -> dict[str, dict[str, Any]]:
    """The tables of one catalogue file, by code as text."""
    text = resources.files("triage.signatures.gpu").joinpath(f"{name}.toml").read_text("utf-8")
    table: dict[str, dict[str, Any]] = tomllib.loads(text)[name]
    return table


def read_shared(code: int, row: Mapping[str, Any]) -> dict[str, Any]:
    """The values of :class:`Entry` out of one table."""
    return {
        "code": code,
        "mnemonic": row["mnemonic"],
        "meaning": row["meaning"],
        "category": Category(row["category"]) if row["category"] else None,
        "also": tuple(Category(one) for one in row.get("also", ())),
        "role": EvidenceRole(row.get("role", "root")),
        "severity": row["severity"],
        "hardware": row["hardware"],
        "action": row["action"],
        "parents": tuple(row.get("parents", ())),
        "where": row.get("where", "all"),
        "disputed": row.get("disputed", ""),
        "note": row.get("note", ""),
    }
