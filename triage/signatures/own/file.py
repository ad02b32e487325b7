"""A file of own signatures to entries: TOML, with every fault of form and its line."""

import re
import tomllib
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, Final, TypeVar

from triage.domain.category import HARDWARE, Action, Category
from triage.domain.evidence import Blame, EvidenceRole, Kind
from triage.signatures.family import CORRECTED, ERROR, FATAL, WARN
from triage.signatures.gpu.catalogue import sxid, xid
from triage.signatures.own.faults import SignatureFault
from triage.signatures.own.own_signatures import OwnEntry, Silence
from triage.signatures.own.pattern import PatternFault, derived_literals
from triage.signatures.own.toml_lines import TomlLines
from triage.signatures.registry import all_signatures
from triage.signatures.signature import Scope, Signature

__all__ = ["MAX_BYTES", "MAX_ENTRIES", "OwnFile", "read_file"]

MAX_BYTES: Final = 256 << 10
"""Of one file."""
MAX_ENTRIES: Final = 500
"""Signatures and silences of all files together."""
MAX_EXAMPLES: Final = 50
MAX_TEXT: Final = 2000
NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,47}", re.ASCII)
SILENT: Final = re.compile(r"(?P<id>[a-z0-9_]+\.[a-z0-9_]+)(?::(?P<code>[0-9]{1,6}))?", re.ASCII)
AT_LINE: Final = re.compile(r"\(?at line (\d+), column \d+\)?")

KEYS: Final = (
    "name", "pattern", "literals", "role", "category", "also", "kind", "scope", "blame", "action",
    "severity", "weak", "matches", "near_misses",
)  # fmt: skip
SILENCE_KEYS: Final = ("signatures", "reason", "matches")
SEVERITIES: Final = (CORRECTED, WARN, ERROR, FATAL)
# The catalogues of codes, and rows that are never weighed, are ours alone.
OWN_KINDS: Final = frozenset(Kind) - {
    Kind.XID, Kind.SXID, Kind.IDENTITY, Kind.PROGRESS, Kind.TEMPLATE,
}  # fmt: skip
# What is done to a node needs a fault of the node.
OF_A_NODE: Final = frozenset({Action.RESET_GPU, Action.REBOOT_NODE, Action.DRAIN_NODE})
USUAL_KIND: Final[Mapping[Category, Kind]] = {
    Category.GPU_HBM: Kind.ECC,
    Category.GPU_SRAM: Kind.ECC,
    Category.GPU_THERMAL: Kind.THERMAL,
    Category.NVLINK: Kind.LINK,
    Category.NIC: Kind.NIC,
    Category.NETWORK: Kind.LINK,
    Category.SSD: Kind.STORAGE,
    Category.POWER: Kind.POWER,
    Category.CHASSIS: Kind.PCIE,
    Category.IO_BOARD: Kind.PCIE,
    Category.CPU: Kind.CPU,
    Category.HOST_MEMORY: Kind.MEMORY,
    Category.HOST_MAINTENANCE: Kind.SCHEDULER,
    Category.HOST_STALL: Kind.DATA,
    Category.HOST_OOM: Kind.OOM,
    Category.GPU_OOM: Kind.CUDA,
    Category.NUMERICAL: Kind.NUMERICS,
    Category.DEPENDENCY: Kind.DEPENDENCY,
    Category.STORAGE: Kind.STORAGE,
    Category.COLLECTIVE_MISMATCH: Kind.NCCL,
    Category.NCCL_TIMEOUT: Kind.NCCL,
}
Word = TypeVar("Word", bound=StrEnum)


class OwnFile:
    """One file as it was read: ``faults`` of its form, else entries and silences."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.entries: list[OwnEntry] = []
        self.silences: list[Silence] = []
        self.faults: list[SignatureFault] = []

    def fault(self, line: int, reason: str) -> None:
        """One more fault."""
        self.faults.append(SignatureFault(self.name, line, reason))


def read_file(name: str, data: bytes) -> OwnFile:
    """The entries of a file called ``name``; nothing is raised."""
    found = OwnFile(name)
    if len(data) > MAX_BYTES:
        found.fault(1, f"the file has {len(data):,} bytes, of at most {MAX_BYTES:,}")
        return found
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found.fault(line, f"the file is not UTF-8: byte {error.start} of it")
        return found
    try:
        raw = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        at = AT_LINE.search(str(error))
        message = AT_LINE.sub("", str(error)).strip()
        last = text.rstrip().count("\n") + 1
        found.fault(
            int(at[1]) if at else last, f"the file is no TOML: {message or 'nested too deep'}"
        )
        return found
    lines = TomlLines(text)
    for key in sorted(set(raw) - {"signature", "silence"}):
        line = lines.keys.get((0, key)) or lines.entry(key, 0)
        found.fault(line, f"the key {key!r} is none; a file has [[signature]] and [[silence]]")
    each(found, raw, lines, "signature", KEYS, take_signature)
    each(found, raw, lines, "silence", SILENCE_KEYS, take_silence)
    return found


class Table:
    """One entry: its values, checked one by one, each fault on the line of its key."""

    def __init__(
        self, file: OwnFile, lines: TomlLines, where: tuple[str, int], raw: Mapping[str, Any]
    ) -> None:
        self.file = file
        self.lines = lines
        self.where = where
        self.raw = raw
        self.line = lines.entry(*where)
        self.sound = True

    def fault(self, key: str, reason: str) -> None:
        """Something is wrong with the value of ``key``."""
        self.sound = False
        self.file.fault(self.lines.key(*self.where, key), reason)

    def text(self, key: str) -> str:
        """A text that has to be there."""
        value = self.raw.get(key)
        if value is None:
            self.fault(key, f"{key} is missing")
        elif not isinstance(value, str) or not 1 <= len(value) <= MAX_TEXT:
            self.fault(key, f"{key} must be a text of 1 to {MAX_TEXT:,} characters")
        else:
            return value
        return ""

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; a single text is a list of one."""
        value = self.raw.get(key, [])
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or len(value) > MAX_EXAMPLES:
            self.fault(key, f"{key} must be a list of at most {MAX_EXAMPLES} texts")
            return ()
        for one in value:
            if not isinstance(one, str) or not 1 <= len(one) <= MAX_TEXT or "\n" in one:
                self.fault(key, f"{key} must be texts of one line, of 1 to {MAX_TEXT:,} characters")
                return ()
        return tuple(value)

    def word(self, key: str, words: type[Word]) -> Word | None:
        """One of the words of an enumeration; None where it is not given, or is none of them."""
        value = self.raw.get(key)
        return None if value is None else self.one_of(key, value, words)

    def one_of(self, key: str, value: object, words: type[Word]) -> Word | None:
        if isinstance(value, str) and value in {str(one) for one in words}:
            return words(value)
        self.fault(key, f"{key} {value!r} is none of {', '.join(map(str, words))}")
        return None

    def words(self, key: str, words: type[Word]) -> tuple[Word, ...]:
        """A list of such words."""
        found = [self.one_of(key, one, words) for one in self.texts(key)]
        return tuple(one for one in found if one is not None)

    def flag(self, key: str) -> bool:
        """Whether a flag is set."""
        value = self.raw.get(key, False)
        if not isinstance(value, bool):
            self.fault(key, f"{key} must be true or false")
        return value is True


def each(
    file: OwnFile,
    raw: Mapping[str, Any],
    lines: TomlLines,
    table: str,
    keys: tuple[str, ...],
    take: Callable[[Table], None],
) -> None:
    """Take every entry of a list of tables."""
    entries = raw.get(table, [])
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        file.fault(lines.entry(table, 0), f"{table} must be a list of tables: [[{table}]]")
        return
    for index, one in enumerate(entries):
        entry = Table(file, lines, (table, index), one)
        for key in sorted(set(one) - set(keys)):
            entry.fault(key, f"the key {key!r} is none; keys are {', '.join(keys)}")
        take(entry)


def take_signature(table: Table) -> None:
    """One own signature."""
    name, pattern = table.text("name"), table.text("pattern")
    if name in ours():
        table.fault("name", f"{name!r} is the name of a built-in one; silence it, or take another")
    elif name and not NAME.fullmatch(name):
        table.fault(
            "name", f"{name!r} is no name: lower case letters, digits and _, at most 48 of them"
        )
    role = table.word("role", EvidenceRole)
    role = EvidenceRole.ROOT if role is None and "role" not in table.raw else role
    category = table.word("category", Category)
    kind = table.word("kind", Kind) or usual_kind(category)
    if kind not in OWN_KINDS:
        table.fault("kind", f"the kind {str(kind)!r} is read by built-in ones alone")
    scope = table.word("scope", Scope) or Scope.ANY
    blame = table.word("blame", Blame) or usual_blame(category)
    if role is EvidenceRole.ROOT and category is None and "category" not in table.raw:
        table.fault("role", "a root needs a category: what the line says is broken")
    literals = tuple(one.lower() for one in table.texts("literals"))
    if pattern and not literals:
        literals = literals_of(table, pattern)
    entry = OwnEntry(
        name=name,
        pattern=pattern,
        literals=literals,
        role=role or EvidenceRole.ROOT,
        kind=kind,
        scope=scope,
        matches=table.texts("matches"),
        near_misses=table.texts("near_misses"),
        category=category,
        also=table.words("also", Category),
        blame=blame,
        action=action_of(table, category),
        severity=severity_of(table),
        weak=table.flag("weak"),
        file=table.file.name,
        line=table.line,
    )
    if table.sound:
        table.file.entries.append(entry)


def usual_kind(category: Category | None) -> Kind:
    if category is None:
        return Kind.KERNEL
    return USUAL_KIND.get(category, Kind.GPU if category in HARDWARE else Kind.PYTHON)


def usual_blame(category: Category | None) -> Blame:
    """A shared file system is on no node, whoever complains of it."""
    return Blame.SHARED if category is Category.STORAGE else Blame.SELF


def literals_of(table: Table, pattern: str) -> tuple[str, ...]:
    try:
        found = derived_literals(pattern)
    except PatternFault as error:
        table.fault("pattern", str(error))
        return ()
    if not found:
        table.fault(
            "pattern",
            "the pattern has no text that every match holds: it would be tried on every line;"
            " give literals",
        )
    return found


def action_of(table: Table, category: Category | None) -> Action | None:
    action = table.word("action", Action)
    if action in OF_A_NODE and category not in HARDWARE:
        table.fault("action", f"the action {str(action)!r} needs a category of hardware")
    return action


def severity_of(table: Table) -> str | None:
    value = table.raw.get("severity")
    if value is None or value in SEVERITIES:
        return value
    table.fault("severity", f"severity {value!r} is none of {', '.join(SEVERITIES)}")
    return None


def take_silence(table: Table) -> None:
    """One entry that silences; each signature that it names is one silence."""
    reason = table.text("reason")
    names = table.texts("signatures")
    if not names:
        table.fault("signatures", "signatures is missing: which built-in ones are noise here")
    for name in names:
        parts = SILENT.fullmatch(name)
        one = ours().get(parts["id"]) if parts else None
        if parts is None or one is None:
            table.fault("signatures", f"{name!r} is the id of no built-in signature")
            continue
        code = None if parts["code"] is None else int(parts["code"])
        if code is not None and not has_code(one, code):
            table.fault("signatures", f"{name!r}: {one.id} has no code {code}")
        if one.kind in (Kind.IDENTITY, Kind.PROGRESS):
            table.fault("signatures", f"{name!r} accuses nobody: it says who is where")
        if table.sound:
            table.file.silences.append(
                Silence(one.id, reason, code, table.texts("matches"), table.file.name, table.line)
            )


def has_code(one: Signature, code: int) -> bool:
    known = {Kind.XID: xid, Kind.SXID: sxid}.get(one.kind)
    return known is not None and known(code) is not None


@cache
def ours() -> Mapping[str, Signature]:
    """Our own signatures by id."""
    return {one.id: one for one in all_signatures()}
