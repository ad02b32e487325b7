"""What the fields of a record hold, by their names: when it was, of which host, what was said.

The names are data, ``record_fields.toml``: one table for objects, tables and records of a field a
line. Monitors, tickets and chats say a title and a text, while it lasts::

    {"title": "[Triggered] RAM module failed", "text": "gpu-17: slot D5", "status": "triggered"}
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, TypeGuard

from triage.domain.patterns import compile_re
from triage.domain.toml_tables import read_toml

_WORD: Final = compile_re(r"[A-Z]{1,40}(?![a-z])|[A-Z]?[a-z]{1,40}|\d{1,9}")
_MOST_CHARACTERS: Final = 100


class Holds(StrEnum):
    """What a field may hold; the tables of ``record_fields.toml``."""

    WHEN = "when"
    WHEN_PRINTED = "when_printed"
    HOST = "host"
    SUBJECT = "subject"
    MACHINES = "machines"
    ALIAS = "alias"
    ADDRESS = "address"
    MESSAGE = "message"
    EVENT = "event"
    TITLE = "title"
    DETAIL = "detail"
    GRADE = "grade"
    PART = "part"
    NUMBER = "number"
    CONTROLLER = "controller"
    KEEPER = "keeper"
    STATE = "state"
    SERVICE = "service"
    PROGRAM = "program"
    RAISED = "raised"


Fields = Mapping[Holds, list[Any]]
"""The values of a record by what they are, those of the surest names first."""
WORDS: Final = (Holds.MESSAGE, Holds.DETAIL, Holds.EVENT, Holds.TITLE)
"""What may be a record's words, the surest first."""
TIMES: Final = (Holds.WHEN, Holds.WHEN_PRINTED)


def _make_tables() -> tuple[dict[str, list[tuple[Holds, int]]], dict[str, tuple[Holds, int]]]:
    """What whole names, and last words of names, tell: each with how sure it is, 0 the surest."""
    names: defaultdict[str, list[tuple[Holds, int]]] = defaultdict(list)
    words: dict[str, tuple[Holds, int]] = {}
    for holds, table in read_toml("triage.parsers.logs", "record_fields").items():
        for rank, name in enumerate(table["names"]):
            names[name].append((Holds(holds), rank))
        for word in table.get("words", ()):
            words[word] = (Holds(holds), len(table["names"]))
    return dict(names), words


_NAMES, _LAST_WORDS = _make_tables()


@lru_cache(maxsize=8192)
def name_field(name: str) -> tuple[tuple[Holds, int], ...]:
    """What a field of this name holds, each with how sure that is, 0 the surest."""
    words = [word.lower() for word in _WORD.findall(name[:_MOST_CHARACTERS])]
    known = _NAMES.get("".join(words))
    if known is not None:
        return tuple(known)
    last = _LAST_WORDS.get(words[-1]) if words else None
    return () if last is None else (last,)


def read_fields(record: Mapping[str, Any]) -> Fields:
    """What a record holds; what has no value is left out."""
    return sort_fields(record.items())


def sort_fields(pairs: Iterable[tuple[str, Any]]) -> Fields:
    """What fields hold of which several may have the same name."""
    found: defaultdict[Holds, list[tuple[int, Any]]] = defaultdict(list)
    for name, value in pairs:
        if value is not None:
            for holds, rank in name_field(name):
                found[holds].append((rank, value))
    return {
        holds: [value for _, value in sorted(rows, key=lambda row: row[0])]
        for holds, rows in found.items()
    }


# A machine's name has a figure and a mark in it, and no blank: gpu-17, rack4.n7.
_MACHINE: Final = compile_re(r"(?=[^\d\s]{0,60}\d)(?=\w{0,60}[-.])[A-Za-z][\w.-]{2,252}")


def find_host(fields: Fields) -> str | None:
    """The host that a record names by its surest name, else the machine that it is about."""
    for name in fields.get(Holds.HOST, ()):
        if isinstance(name, str) and 0 < len(name) <= 253 and " " not in name:
            return name
    subjects = (one for one in fields.get(Holds.SUBJECT, ()) if isinstance(one, str))
    return next((one for one in subjects if _MACHINE.fullmatch(one)), None)


def list_values(fields: Fields, *kinds: Holds) -> list[Any]:
    """The values of these kinds, the first kind first."""
    return [value for holds in kinds for value in fields.get(holds, ())]


_OVER: Final = compile_re(
    r"(?i)(?:auto[-_ ]?)?(?:resolved|recover(?:ed|y)|cleared|closed|ok|success|normal|inactive"
    r"|healthy)"
)
# "[Recovered] ...", "[P1] [RESOLVED on host:n7] ...", "OK: ..."
_OVER_TITLE: Final = compile_re(
    r"(?i)(?:.{0,40}\[(?:recovered|resolved|cleared|closed|ok)\b[^\[\]]{0,80}\]"
    r"|(?:recovered|resolved|cleared|ok): )"
)


def join_texts(parts: Iterable[object]) -> str:
    """Texts as one line's words, none that another one says too."""
    texts = list(dict.fromkeys(one.strip() for one in parts if isinstance(one, str)))
    return ": ".join(
        one for one in texts if one and not any(one != other and one in other for other in texts)
    )


def compose_record(fields: Fields, message: str | None) -> str | None:
    """What a record says whose message is known: its title, ``message``, and what describes it.

    A title alone may be a field of anything: it says something where the record has a state.
    """
    titles = fields.get(Holds.TITLE, ())
    # The reason of an event is one word, which its message explains.
    details = [one for one in fields.get(Holds.DETAIL, ()) if _is_text(one) and " " in one]
    texts = [message, *details]
    if not any(map(_is_text, titles)):
        # Opsgenie's title is its message.
        return join_texts(texts) if message and details else message
    if any(map(_is_text, texts)) or any(_iterate_states(fields)):
        return join_texts([*titles, *texts])
    return message


def is_over(fields: Fields) -> bool:
    """Whether a record of a trouble, which has a title or a description, says that it has ended."""
    titles = [one for one in fields.get(Holds.TITLE, ()) if _is_text(one)]
    if not titles and not any(map(_is_text, fields.get(Holds.DETAIL, ()))):
        return False
    return any(map(_OVER.fullmatch, _iterate_states(fields))) or any(map(_OVER_TITLE.match, titles))


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip())


def _iterate_states(fields: Fields) -> Iterator[str]:
    """The states that a record names, also ``{"status": {"state": "resolved"}}``."""
    for one in fields.get(Holds.STATE, ()):
        if isinstance(one, Mapping):
            one = one.get("state") or one.get("name") or one.get("value")
        if isinstance(one, str):
            yield one
