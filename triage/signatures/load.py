"""Our own signatures out of their TOML files, in the order in which they are tried.

A file has the form of a team's own (``triage/signatures/form.py``) and more: ``[family.NAME]``
holds what its entries share, ``[parts]`` texts that patterns name as ``{PART}``, and ``read``
names a reader in the Python module beside the file.
"""

import re
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, Final, cast

from triage.domain.evidence import Trait
from triage.signatures.form import ENTRY_KEYS, EntryTable, TomlFile, read_values
from triage.signatures.own.faults import FaultySignatures, SignatureFault
from triage.signatures.scheduler.node_names import HOST, HOSTS
from triage.signatures.severity import (
    BDF,
    CORRECTED,
    ERROR,
    FATAL,
    UNGRADED,
    USUAL_SEVERITY,
    WARN,
    grade_reading,
)
from triage.signatures.signature import Read, Signature

_KEYS: Final = (
    *ENTRY_KEYS, "family", "source", "context", "each", "quiet", "as_one", "floods", "traits",
    "read", "graded",
)  # fmt: skip
_PART: Final = re.compile(r"\{([A-Z][A-Z_0-9]+)\}")
# Parts that patterns of many files name.
_PARTS: Final = {"BDF": BDF, "HOST": HOST, "HOSTS": HOSTS}
_GRADES: Final = {
    "none": UNGRADED, "info": "info", CORRECTED: CORRECTED, WARN: WARN, ERROR: ERROR, FATAL: FATAL,
}  # fmt: skip
_USUAL: Final = {role: grade or "none" for role, grade in USUAL_SEVERITY.items()}


class Shipped(TomlFile):
    """A file of ours: its texts are as long as they have to be."""

    max_text: ClassVar = 8000
    max_texts: ClassVar = 100
    one_line: ClassVar = False


class LazyPattern:
    """A pattern that is compiled when it is first searched for: a log needs few of hundreds.

    A pattern that is none raises :class:`FaultySignatures` then.
    """

    def __init__(self, pattern: str, file: str, entry: tuple[str, int]) -> None:
        self.pattern = pattern
        self.where = file, entry

    @cached_property
    def search(self) -> "Callable[..., re.Match[str] | None]":
        """The first match in a text, None for none."""
        try:
            return re.compile(self.pattern, re.IGNORECASE).search
        except re.error as error:
            file, entry = self.where
            line = TomlFile(file, Path(file).read_bytes()).lines.key(*entry, "pattern")
            raise FaultySignatures(
                [SignatureFault(file, line, f"the pattern cannot be read: {error}")]
            ) from error


def load(module: str, **readers: Read) -> tuple[Signature, ...]:
    """The signatures of the file beside ``module``, with the readers of that module and these.

    Raises :class:`FaultySignatures` with all that is wrong.
    """
    package, _, name = module.rpartition(".")
    file = resources.files(package).joinpath(f"{name}.toml")
    beside = vars(sys.modules[module]) if module in sys.modules else {}
    return parse_signatures(str(file), file.read_bytes(), {**beside, **readers})


def parse_signatures(name: str, data: bytes, names: Mapping[str, Any]) -> tuple[Signature, ...]:
    """As :func:`load`, of a file of these bytes; ``names`` are its readers and more parts."""
    file = Shipped(name, data)
    parts = _PARTS | {key: value for key, value in names.items() if isinstance(value, str)}
    defined = EntryTable(file, ("parts", 0), file.raw.get("parts", {}))
    for key in defined.raw:
        parts[key] = _expand_parts(defined, key, parts)
    families = file.raw.get("family", {})
    for key, shared in families.items():
        EntryTable(file, (f"family.{key}", 0), shared).check_keys((*_KEYS, "prefix"))
    for key in sorted(set(file.raw) - {"family", "parts", "signature"}):
        file.fault(1, f"the key {key!r} is none; a file has family, parts and signature")
    found = tuple(
        _make_signature(_merge_family(entry, families), parts, names)
        for entry in file.tables("signature", _KEYS)
    )
    if file.faults:
        raise FaultySignatures(file.faults)
    return found


def _merge_family(entry: EntryTable, families: Mapping[str, Mapping[str, Any]]) -> EntryTable:
    """The entry with what its family says; an empty text of the entry takes that back."""
    family = entry.raw.get("family", next(iter(families), ""))
    if family not in families:
        entry.fault("family", f"the family {family!r} is none of {', '.join(families)}")
    shared = {"prefix": family, **families.get(family, {})}
    traits = [*shared.get("traits", ()), *entry.raw.get("traits", ())]
    values = {**shared, **entry.raw, "traits": traits}
    return EntryTable(
        entry.file, entry.where, {key: value for key, value in values.items() if value != ""}
    )


def _expand_parts(table: EntryTable, key: str, parts: Mapping[str, str]) -> str:
    """A pattern, or a part of one, with the parts that it names."""

    def part(found: "re.Match[str]") -> str:
        if found[1] not in parts:
            table.fault(key, f"{key} names the part {found[1]}, which is none")
        return parts.get(found[1], "")

    return _PART.sub(part, "".join(table.texts(key)))


def _make_signature(
    table: EntryTable, parts: Mapping[str, str], names: Mapping[str, Any]
) -> Signature:
    """One entry; what is wrong with it is among the faults of its file."""
    pattern = _expand_parts(table, "pattern", parts)
    if not pattern:
        table.fault("pattern", "pattern is missing")
    values = read_values(table, pattern)
    read = _find_reader(table, names)
    grade = table.raw.get("severity", _USUAL[values["role"]] if table.flag("graded") else None)
    if grade in _GRADES:
        read = grade_reading(_GRADES[grade], read)
    elif grade is not None:
        table.fault("severity", f"severity {grade!r} is none of {', '.join(_GRADES)}")
    return Signature(
        id=f"{table.raw['prefix']}.{table.text('name')}",
        pattern=cast("re.Pattern[str]", LazyPattern(pattern, table.file.name, table.where)),
        source=table.text("source"),
        context=table.number("context"),
        each=table.flag("each"),
        quiet=table.flag("quiet"),
        as_one=table.flag("as_one"),
        floods=table.flag("floods"),
        traits=frozenset(table.words("traits", Trait)),
        read=read,
        **values,
    )


def _find_reader(table: EntryTable, names: Mapping[str, Any]) -> Read | None:
    """The function that ``read`` names."""
    name = table.raw.get("read")
    if name is None:
        return None
    if not callable(names.get(name)):
        table.fault("read", f"the reader {name!r} is none of the module beside the file")
        return None
    read: Read = names[name]
    return read
