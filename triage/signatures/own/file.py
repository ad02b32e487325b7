"""A file of own signatures to entries: TOML, with every fault of form and its line."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from triage.domain.category import HARDWARE, Action
from triage.domain.evidence import EvidenceRole, Kind
from triage.domain.patterns import compile_re
from triage.signatures.form import ENTRY_KEYS, EntryTable, TomlFile, read_values
from triage.signatures.gpu.catalogue import get_sxid, get_xid
from triage.signatures.own.own_signatures import OwnEntry, Silence
from triage.signatures.registry import load_all_signatures
from triage.signatures.severity import CORRECTED, ERROR, FATAL, WARN
from triage.signatures.signature import Signature

MAX_BYTES: Final = 256 << 10
"""Of one file."""
MAX_ENTRIES: Final = 500
"""Signatures and silences of all files together."""
_NAME: Final = compile_re(r"[a-z][a-z0-9_]{0,47}", re.ASCII)
_SILENT: Final = compile_re(r"(?P<id>[a-z0-9_]+\.[a-z0-9_]+)(?::(?P<code>[0-9]{1,6}))?", re.ASCII)

_KEYS: Final = (*ENTRY_KEYS, "action")
_SILENCE_KEYS: Final = ("signatures", "reason", "matches")
_SEVERITIES: Final = (CORRECTED, WARN, ERROR, FATAL)
# The catalogues of codes, and rows that are never weighed, are ours alone.
_OWN_KINDS: Final = frozenset(Kind) - {
    Kind.XID, Kind.SXID, Kind.IDENTITY, Kind.PROGRESS, Kind.TEMPLATE,
}  # fmt: skip
# What is done to a node needs a fault of the node.
_OF_A_NODE: Final = frozenset({Action.RESET_GPU, Action.REBOOT_NODE, Action.DRAIN_NODE})


class OwnFile(TomlFile):
    """One file as it was read: ``faults`` of its form, else entries and silences."""

    def __init__(self, name: str, data: bytes) -> None:
        self.entries: list[OwnEntry] = []
        self.silences: list[Silence] = []
        super().__init__(name, data if len(data) <= MAX_BYTES else b"")
        if len(data) > MAX_BYTES:
            self.fault(1, f"the file has {len(data):,} bytes, of at most {MAX_BYTES:,}")


def read_file(name: str, data: bytes) -> OwnFile:
    """The entries of a file called ``name``; nothing is raised."""
    file = OwnFile(name, data)
    for key in sorted(set(file.raw) - {"signature", "silence"}):
        line = file.lines.keys.get((0, key)) or file.lines.entry(key, 0)
        file.fault(line, f"the key {key!r} is none; a file has [[signature]] and [[silence]]")
    for table in file.tables("signature", _KEYS):
        _take_signature(file, table)
    for table in file.tables("silence", _SILENCE_KEYS):
        _take_silence(file, table)
    return file


def _take_signature(file: OwnFile, table: EntryTable) -> None:
    """One own signature."""
    name, pattern = table.text("name"), table.text("pattern")
    if name in _map_our_signatures():
        table.fault("name", f"{name!r} is the name of a built-in one; silence it, or take another")
    elif name and not _NAME.fullmatch(name):
        table.fault(
            "name", f"{name!r} is no name: lower case letters, digits and _, at most 48 of them"
        )
    values = read_values(table, pattern)
    category = values["category"]
    if values["kind"] not in _OWN_KINDS:
        table.fault("kind", f"the kind {str(values['kind'])!r} is read by built-in ones alone")
    is_root = table.raw.get("role", EvidenceRole.ROOT) == EvidenceRole.ROOT
    if is_root and "category" not in table.raw:
        table.fault("role", "a root needs a category: what the line says is broken")
    action, severity = table.word("action", Action), table.raw.get("severity")
    if action in _OF_A_NODE and category not in HARDWARE:
        table.fault("action", f"the action {str(action)!r} needs a category of hardware")
    if severity is not None and severity not in _SEVERITIES:
        table.fault("severity", f"severity {severity!r} is none of {', '.join(_SEVERITIES)}")
    entry = OwnEntry(
        name=name,
        pattern=pattern,
        action=action,
        severity=severity if severity in _SEVERITIES else None,
        file=file.name,
        line=table.line,
        **values,
    )
    if table.sound:
        file.entries.append(entry)


def _take_silence(file: OwnFile, table: EntryTable) -> None:
    """One entry that silences; each signature that it names is one silence."""
    reason = table.text("reason")
    names = table.texts("signatures")
    if not names:
        table.fault("signatures", "signatures is missing: which built-in ones are noise here")
    for name in names:
        parts = _SILENT.fullmatch(name)
        one = _map_our_signatures().get(parts["id"]) if parts else None
        if parts is None or one is None:
            table.fault("signatures", f"{name!r} is the id of no built-in signature")
            continue
        code = None if parts["code"] is None else int(parts["code"])
        known = {Kind.XID: get_xid, Kind.SXID: get_sxid}.get(one.kind)
        if code is not None and (known is None or known(code) is None):
            table.fault("signatures", f"{name!r}: {one.id} has no code {code}")
        if one.kind in (Kind.IDENTITY, Kind.PROGRESS):
            table.fault("signatures", f"{name!r} accuses nobody: it says who is where")
        if table.sound:
            file.silences.append(
                Silence(one.id, reason, code, table.texts("matches"), file.name, table.line)
            )


@cache
def _map_our_signatures() -> Mapping[str, Signature]:
    """Our own signatures by id."""
    return {one.id: one for one in load_all_signatures()}
