"""Our own signatures out of their TOML files, in the order in which they are tried.

A file has the form of a team's own (``triage/signatures/form.py``) and more: ``[family.NAME]``
holds what its entries share, ``[parts]`` texts that patterns name as ``{PART}``, and ``read``
names a reader: ``[[reader.NAME]]`` of the same file (:mod:`triage.signatures.cases`), else the
function ``read_NAME`` of ``readers.py`` in its folder, or of the module of ``FOLDER.MODULE.NAME``.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from importlib import import_module, resources
from pathlib import Path
from typing import Any, ClassVar, Final, cast

from triage.domain.evidence import Trait
from triage.signatures.cases import expand_parts, make_reader, parse_case
from triage.signatures.form import ENTRY_KEYS, EntryTable, TomlFile, read_values
from triage.signatures.own.faults import FaultySignatures, SignatureFault
from triage.signatures.scheduler.node_names import HOST, HOSTS, SHOULD_HOLD
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
# Parts that patterns of many files name.
_PARTS: Final = {"BDF": BDF, "HOST": HOST, "HOSTS": HOSTS, "SHOULD_HOLD": SHOULD_HOLD}
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


@cache
def load(name: str) -> tuple[Signature, ...]:
    """The signatures of the file ``FOLDER/NAME``. Raises :class:`FaultySignatures` with all that is
    wrong.
    """
    folder, _, rest = name.partition("/")
    file = resources.files("triage.signatures").joinpath(folder, f"{rest}.toml")

    def find(reader: str) -> object:
        module, _, function = reader.rpartition(".")
        readers = import_module(f"triage.signatures.{module or f'{folder}.readers'}")
        return getattr(readers, f"read_{function}", None)

    return parse_signatures(str(file), file.read_bytes(), find)


def parse_signatures(
    name: str, data: bytes, find: Callable[[str], object]
) -> tuple[Signature, ...]:
    """As :func:`load`, of a file of these bytes; ``find`` gives the function of a reader."""
    file = Shipped(name, data)
    parts = dict(_PARTS)
    defined = EntryTable(file, ("parts", 0), file.raw.get("parts", {}))
    for key in defined.raw:
        parts[key] = expand_parts(defined, key, "".join(defined.texts(key)), parts)
    families = file.raw.get("family", {})
    for key, shared in families.items():
        EntryTable(file, (f"family.{key}", 0), shared).check_keys((*_KEYS, "prefix"))
    for key in sorted(set(file.raw) - {"family", "parts", "reader", "signature"}):
        file.fault(1, f"the key {key!r} is none; a file has family, parts, reader and signature")
    readers: dict[str, Read] = {}

    def find_reader(table: EntryTable) -> Callable[[], Read] | None:
        """The reader that ``read`` names; one of this file may stand behind its users."""
        reader = table.raw.get("read")
        if reader is None:
            return None
        if reader in file.raw.get("reader", {}):
            return lambda: readers[reader]
        function = find(reader)
        if not callable(function):
            table.fault("read", f"the reader {reader!r} is none of the file, nor of the module")
        return lambda: cast("Read", function)

    for key, rows in file.raw.get("reader", {}).items():
        tables = [EntryTable(file, (f"reader.{key}", index), row) for index, row in enumerate(rows)]
        readers[key] = make_reader(
            [parse_case(one, parts, find_reader(one), _GRADES) for one in tables]
        )
    found = tuple(
        _make_signature(_merge_family(entry, families), parts, find_reader)
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


def _make_signature(
    table: EntryTable,
    parts: Mapping[str, str],
    find_reader: Callable[[EntryTable], Callable[[], Read] | None],
) -> Signature:
    """One entry; what is wrong with it is among the faults of its file."""
    pattern = expand_parts(table, "pattern", "".join(table.texts("pattern")), parts)
    if not pattern:
        table.fault("pattern", "pattern is missing")
    values = read_values(table, pattern)
    reader = find_reader(table)
    read = None if reader is None else reader()
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
