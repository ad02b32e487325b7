"""What a reader of exposure yields, and how it reads a name, a number and a time.

A reader takes text from outside row by row. A row that cannot be read is an :class:`Unread`
with its line and the reason, and the next one is read as if it had not been there. A row that
is none of a run (a step, a job that waits) is :class:`Passed`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Annotated, ClassVar, Final

from triage.domain.hosts import expand
from triage.domain.patterns import compile_re
from triage.fleet.domain.exposure import FIRST, Ending, ExposureRow, JobState

_MAX_NAME: Final = 256
MAX_REASON: Final = 500
_MAX_NODES: Final = 1_000_000
# No table that counts days from its own first one says when that was.
DAY_ZERO: Final = FIRST
# Beyond, a number of days is none.
_MOST_DAYS: Final = 36_525
_CONTROL: Final = compile_re("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_WHOLE: Final = compile_re(r"\d{1,12}(?:\.0+)?", re.ASCII)
# Most lists are one name, and need no grammar.
_PLAIN: Final = compile_re(r"[A-Za-z0-9_.-]{1,200}", re.ASCII)
# 174.5, 0
_DAYS: Final = compile_re(r"\d{1,6}(?:\.\d{1,12})?", re.ASCII)
# 1763694855, 1763694855.25
_EPOCH: Final = compile_re(r"\d{9,11}(?:\.\d{1,9})?", re.ASCII)
# 2026-11-21T03:14:15, with a fraction and a zone or without: "Z", "+08:00", "+0800"
_TIME: Final = compile_re(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?\s?(?:[Zz]|UTC|[+-]\d\d:?\d\d)?",
    re.ASCII,
)
NOTHING: Final = frozenset({"", "unknown", "none", "n/a", "na", "nan", "null", "nat", "-"})


@dataclass(frozen=True, slots=True)
class Options:
    """``zone`` is that of times which name none; ``cluster`` is that of rows which name none.

    Times beyond ``last`` cannot be: whoever wrote them has a wrong clock, or a wrong zone.
    ``sparing`` is for a process that has other things to do: JSON, which is held whole, may be
    a quarter as long. ``day_zero`` is the day from which tables that name no date count theirs.
    """

    zone: tzinfo = UTC
    cluster: str = ""
    last: datetime | None = None
    sparing: bool = False
    day_zero: datetime = DAY_ZERO


@dataclass(frozen=True, slots=True)
class Unread:
    """A row that is left out."""

    line: Annotated[int, "From 1; of a list of objects its place."]
    why: str


@dataclass(frozen=True, slots=True)
class Passed:
    """Rows that are well, and are not what we count; ``what`` names their kind in the plural."""

    what: str
    number: int = 1


Row = ExposureRow | Unread | Passed


class RowError(ValueError):
    """A row cannot be read; the message is a clause that says what is wrong with which field."""


def name_in(text: str, what: str) -> str:
    """A name of a job, node or cluster. Raises :class:`RowError`."""
    name = text.strip()
    if not name:
        raise RowError(f"{what} is empty")
    if len(name) > _MAX_NAME:
        raise RowError(f"{what} has more than {_MAX_NAME} characters")
    if _CONTROL.search(name):
        raise RowError(f"{what} holds a control character")
    return name


def cluster_in(text: str, options: Options) -> str:
    """The cluster that a row names, else the one that the options do. Raises :class:`RowError`."""
    return name_in(text, "the cluster") if text.strip() else options.cluster


def count_in(text: str, what: str, most: int = _MAX_NODES) -> int | None:
    """A whole number, None where there is nothing. Raises :class:`RowError`."""
    text = text.strip()
    if text.lower() in NOTHING:
        return None
    if not _WHOLE.fullmatch(text):
        raise RowError(f"{what} {shorten_foreign_text(text)} is no whole number")
    number = int(text.partition(".")[0])
    if number > most:
        raise RowError(f"{what} {number:,} is more than {most:,}")
    return number


def parse_row_time(
    text: str, what: str, options: Options, *, later: bool = False
) -> datetime | None:
    """A time in UTC, None where there is nothing. Raises :class:`RowError`.

    The zone of the options is taken where the text names none. ``later`` is the second of two
    hours that an end of summer time gives the same name.
    """
    text = text.strip()
    if text.lower() in NOTHING:
        return None
    try:
        if _EPOCH.fullmatch(text):
            at = datetime.fromtimestamp(float(text), UTC)
        elif _TIME.fullmatch(text):
            at = datetime.fromisoformat(text.replace(",", ".").replace("UTC", "Z"))
        else:
            raise ValueError
        if at.tzinfo is None:
            at = at.replace(tzinfo=options.zone, fold=int(later))
        at = at.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise RowError(
            f"{what} {shorten_foreign_text(text)} is no time such as 2026-11-21T03:14:15"
        ) from error
    if at < FIRST:
        raise RowError(f"{what} {shorten_foreign_text(text)} is before {FIRST:%Y}")
    if options.last is not None and at > options.last:
        raise RowError(f"{what} {shorten_foreign_text(text)} is in the future")
    return at


def parse_both_ends(
    start: str, end: str, options: Options, *names: str, days: bool = False
) -> tuple[datetime | None, datetime | None]:
    """Start and end, called by their ``names``; with ``days`` as days since day zero.

    Raises :class:`RowError` where the end is before the start.
    """
    parse = _parse_relative_day if days else parse_row_time
    from_at, to_at = parse(start, names[0], options), parse(end, names[1], options)
    if from_at is not None and to_at is not None and to_at < from_at:
        to_at = to_at if days else parse_row_time(end, names[1], options, later=True)
        if to_at is not None and to_at < from_at:
            quoted = [shorten_foreign_text(text) for text in (end, start)]
            raise RowError(f"{names[1]} {quoted[0]} is before {names[0]} {quoted[1]}")
    return from_at, to_at


def _parse_relative_day(text: str, what: str, options: Options) -> datetime | None:
    """A number of days since day zero as a time. Raises :class:`RowError`."""
    text = text.strip()
    if text.lower() in NOTHING:
        return None
    if not _DAYS.fullmatch(text) or float(text) > _MOST_DAYS:
        raise RowError(
            f"{what} {shorten_foreign_text(text)} is no number of days from 0 to {_MOST_DAYS:,}"
        )
    at = options.day_zero + timedelta(days=float(text))
    if options.last is not None and at > options.last:
        raise RowError(
            f"{what} {shorten_foreign_text(text)} is in the future: say an earlier day zero"
        )
    return at


# Jobs of a fleet run on the same nodes again and again.
@lru_cache(maxsize=256)
def parse_host_list(text: str) -> tuple[str, ...]:
    """The names of a host list, blanks between them or commas. Raises :class:`RowError`."""
    if _PLAIN.fullmatch(text):
        return (text,)
    try:
        return tuple(name_in(name, "a node") for name in expand(",".join(text.split())))
    except RowError:
        raise
    except ValueError as error:
        raise RowError(f"nodes: {error}") from error


def determine_ending(state: JobState, word: str, ended_at: datetime | None) -> Ending:
    """The ending of a run in this state. Raises :class:`RowError` for an end without its time."""
    if ended_at is not None:
        return Ending.UNKNOWN if state.ending == Ending.RUNNING else state.ending
    if state.ending in (Ending.RUNNING, Ending.UNKNOWN):
        return Ending.RUNNING
    raise RowError(f"it ended ({shorten_foreign_text(word)}), and no field says when")


def shorten_foreign_text(text: str) -> str:
    """A foreign text as a reason may quote it."""
    clean = _CONTROL.sub("\ufffd", text.strip())
    return repr(clean if len(clean) <= 60 else clean[:59] + "…")


def remove_names(text: str, nodes: Iterable[str]) -> str:
    """A text without these names: a node called ``gpu003`` says nothing of a GPU.

    >>> remove_names("Node gpu003 has been rebooted, gpu0031 not", ["gpu003"])
    'Node  has been rebooted, gpu0031 not'
    """
    lowered = text.lower()
    for node in nodes:
        if node.lower() in lowered:
            text = re.sub(rf"(?<!\w){re.escape(node)}(?!\w)", "", text, flags=re.IGNORECASE)
    return text


_MAX_COLUMNS: Final = 1000


class Columns:
    """Names are taken without case, blanks and underscores: ``JobID`` is ``job_id``."""

    def __init__(self, header: Sequence[str]) -> None:
        self.num_fields = len(header)
        self.names = tuple(header[:_MAX_COLUMNS])
        self.place: dict[str, int] = {}
        for place, name in enumerate(self.names):
            self.place.setdefault(normalize_column_name(name), place)
        self._found: dict[tuple[str, ...], int | None] = {}

    def __contains__(self, name: str) -> bool:
        return normalize_column_name(name) in self.place

    def first(self, *names: str) -> int | None:
        """Where the first of these stands that is there."""
        if names not in self._found:
            keys = map(normalize_column_name, names)
            self._found[names] = next((self.place[key] for key in keys if key in self.place), None)
        return self._found[names]

    def check(self, fields: Sequence[str], free: int | None = None) -> Sequence[str]:
        """The fields of a row. Raises :class:`RowError` where there are too few or too many.

        Those too many are of the column ``free``, if it is said: a text that Slurm, which quotes
        nothing, printed with a bar in it.
        """
        surplus = len(fields) - self.num_fields
        if free is not None and surplus > 0:
            text = "|".join(fields[free : free + surplus + 1])
            return [*fields[:free], text, *fields[free + surplus + 1 :]]
        if surplus:
            raise RowError(f"it has {len(fields)} fields, the header {self.num_fields}")
        return fields


Get = Callable[..., str]
"""The field under the first of these names that the table has; an empty text where it has none."""


class TableReader:
    """A format of tables; the ``free`` column of a table with bars may hold bars."""

    name: ClassVar[str]
    free: ClassVar[str | None] = None
    delimiter: ClassVar[str | None] = None
    """What parts the fields; None where anything may."""
    needs: ClassVar[Sequence[Sequence[str]]] = ()
    """A header of this format has one of the names of each group."""
    lacks: ClassVar[Sequence[str]] = ()
    """It has none of these."""

    def __init__(self, columns: Columns, options: Options) -> None:
        self.columns = columns
        self.options = options

    @classmethod
    def claims(cls, columns: Columns, delimiter: str) -> bool:
        """Whether the header is one of this format."""
        return (
            cls.delimiter in (None, delimiter)
            and all(columns.first(*names) is not None for names in cls.needs)
            and columns.first(*cls.lacks) is None
        )

    def iterate_rows(self, fields: Sequence[str]) -> Iterator[Row]:
        """What the fields of one row say. Raises :class:`RowError`."""

        def get(*names: str) -> str:
            place = self.columns.first(*names)
            return "" if place is None else fields[place]

        return self.read(get)

    def read(self, get: Get) -> Iterator[Row]:
        """What one row says. Raises :class:`RowError`."""
        raise NotImplementedError


def normalize_column_name(name: str) -> str:
    """A name without case, blanks and underscores."""
    return name.strip().lower().replace("_", "").replace(" ", "")
