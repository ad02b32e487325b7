"""Records that are printed as a field a line: event lists of controllers, notices of monitors.

::

    Record:      1                                  Problem started at 09:46:52 on 2026.05.22
    Date/Time:   03/14/2026 02:39:12                Problem name: GPU 5 has fallen off the bus
    Description: Fan 4 failed.                      Host: gpu-17

A record ends where a field comes again, or where something else than fields stands below it, which
is the head of the next one: it may say when that was, and of which node.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from triage.domain.patterns import compile_re
from triage.formats.logs.controller_lists import format_event_row
from triage.formats.logs.documents import DocumentFormat, choose_time, format_line_about
from triage.parsers.logs.record_fields import (
    TIMES,
    WORDS,
    Fields,
    Holds,
    find_host,
    join_texts,
    list_values,
    read_fields,
)
from triage.parsers.logs.stamps import WRITTEN, read_time

# So much of a file tells whether it is one of records.
_HEAD_CHARACTERS: Final = 8 << 10
_LEAST_SHARE: Final = 0.6
# "Info?" is how Icinga's mails print it.
_FIELD: Final = compile_re(
    r"[ \t]{0,8}(?:[-*] )?(?P<name>[A-Za-z][A-Za-z /_.#-]{0,40}?)[ \t]*[:=?]"
    r"(?:[ \t]+(?P<value>\S.*?))?[ \t\r]*"
)
_RULE: Final = compile_re(r"[ \t]*[-*_=~+#|]{3,}[ \t\r]*")
# "health_event {" and "}", as protocol buffers are printed.
_BRACE: Final = compile_re(r"[ \t]*(?:\w{1,80}[ \t]*\{|\})[ \t\r]*")
_OVER: Final = compile_re(
    r"(?i)\[?(?:ok|up|recover(?:ed|y)|resolved|cleared|closed|normal|healthy|repaired)\b"
    r"|.{0,60}\b(?:is (?:OK|UP)\b|has been resolved)"
)
_CLOCK_FIRST: Final = compile_re(
    r"\b(?P<clock>\d\d:\d\d:\d\d) on (?P<day>\d{4}[./-]\d\d[./-]\d\d)\b"
)
_TIME: Final = compile_re(WRITTEN)
_IN_BRACKETS: Final = compile_re(r"\[(?P<host>[A-Za-z][\w.-]{1,252})\]")


@dataclass(slots=True)
class _Record:
    """``head`` is what stands above the fields."""

    offset: int
    head: list[str] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)

    def read(self) -> Fields:
        """What the fields hold."""
        return read_fields({name: text for name, text in self.fields.items() if text})

    def find_time(self) -> str:
        """When it was, as it is printed."""
        at = choose_time(list_values(self.read(), *TIMES))
        if at and read_time(at) is not None:
            return at
        for text in self.head:
            if (found := _CLOCK_FIRST.search(text)) is not None:
                return f"{found['day'].replace('.', '-')} {found['clock']}"
            if (found := _TIME.search(text)) is not None:
                return found[0]
        return at

    def is_telling(self) -> bool:
        """Whether it says something, and when or of what; a mail, which has a subject, is none."""
        fields = self.read()
        names_host = find_host(fields) is not None
        told = list_values(fields, *(WORDS if names_host else WORDS[:-1]))
        return bool(told) and len(self.fields) > 1 and (names_host or bool(self.find_time()))

    def format(self) -> str:
        """The record as a line: as a row of an event list where it is an event of a part; empty
        where the trouble that it tells of has ended.
        """
        fields = self.read()
        at, words = self.find_time(), list_values(fields, *WORDS)[0]
        in_brackets = (found["host"] for text in self.head if (found := _IN_BRACKETS.match(text)))
        host = find_host(fields) or next(in_brackets, "")
        if not fields.keys().isdisjoint({Holds.NUMBER, Holds.CONTROLLER}):
            sensor = self.fields.get("sensor") or self.fields.get("sensor name", "")
            row = format_event_row(at, sensor, words, next(iter(fields.get(Holds.GRADE, ())), ""))
            return f"{host}: {row}" if host else row
        if any(_OVER.match(text) for text in (*self.head, *fields.get(Holds.STATE, ())[:1])):
            return ""
        service = next(iter(fields.get(Holds.SERVICE, ())), "")
        return format_line_about(at, host, join_texts([service, words]))


def _iterate_blocks(text: str) -> Iterator[_Record]:
    """The records of a text, those that tell nothing too."""
    one = _Record(0)
    offset = 0
    for line in text.split("\n"):
        found = _FIELD.fullmatch(line[:4000])
        if found is not None:
            name = found["name"].strip().lower()
            if name in one.fields:
                yield one
                one = _Record(offset)
            if not one.fields:
                one.offset = offset
            one.fields[name] = _unquote(found["value"] or "")
        elif _BRACE.fullmatch(line):
            if one.fields:
                yield one
                one = _Record(offset)
        elif line.strip() and not _RULE.fullmatch(line):
            if one.fields:
                yield one
                one = _Record(offset)
            one.head.append(line.strip())
            del one.head[:-_MOST_HEAD]
        offset += len(line) + 1
    yield one


_MOST_HEAD: Final = 4


def _unquote(text: str) -> str:
    """A value without the quotes around it."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _is_blocks(text: str) -> bool:
    """Whether most lines of the beginning are fields of records that tell something."""
    head = text[:_HEAD_CHARACTERS]
    if len(text) > len(head):
        head = head[: head.rfind("\n") + 1]
    records = list(_iterate_blocks(head))
    telling = [one for one in records if one.is_telling()]
    numbered = any(Holds.NUMBER in one.read() for one in telling)
    if len(telling) < (1 if numbered else 2):
        return False
    lines = sum(
        1
        for line in head.split("\n")
        if line.strip() and not (_RULE.fullmatch(line) or _BRACE.fullmatch(line))
    )
    told = sum(len(one.fields) + min(len(one.head), 2) for one in telling)
    return told >= _LEAST_SHARE * lines


def _iterate_block_rows(text: str) -> Iterator[tuple[int, str]]:
    """(offset, line) of each record that tells something."""
    for one in _iterate_blocks(text):
        if one.is_telling() and (line := one.format()):
            yield one.offset, line


FIELD_BLOCKS: Final = DocumentFormat("field_blocks", _is_blocks, _iterate_block_rows)
