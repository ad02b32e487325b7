"""What a reader of check results hands on: the results, and what it did not understand.

A reader gets the whole text of one document, which is bounded, and never raises for what
stands in it: what it cannot use it lists with its line.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.health import Bandwidth, CheckResult, Outcome
from triage.domain.patterns import compile_re

PASS, WARN, FAIL, SKIPPED = Outcome.PASS, Outcome.WARN, Outcome.FAIL, Outcome.SKIPPED
BAD: Final = (FAIL, WARN)
_MAX_DETAIL: Final = 300
_MAX_PART: Final = 64
_MAX_NAME: Final = 64
_MAX_LINKS: Final = 16
# Twenty checks of eight GPUs on six hundred nodes; what is beyond is counted, not kept.
_MAX_RESULTS: Final = 100_000
_MAX_LISTED: Final = 200
# No line of a report is longer; of what is, the rest is not looked at.
_MAX_LINE: Final = 1000
_NO_NAME: Final = compile_re(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """A line that was not used, counted from 1 (None: the document as a whole), and why."""

    line: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Checks:
    """The results in one file. They fill its lines from ``first_line`` to ``last_line``.

    Of what was not understood the first are listed; ``num_not_understood`` counts all.
    """

    artifact: str
    format: str
    results: tuple[CheckResult, ...]
    not_understood: tuple[NotUnderstood, ...] = ()
    num_not_understood: int = 0
    first_line: int = 1
    last_line: int = 1


@dataclass(slots=True)
class Reading:
    """Results on their way; ``node`` is the one that they are of, where the text names none.

    ``busbw_gbps`` is the bus bandwidth in GB/s that NCCL tests are held against, None where
    nobody stated one.
    """

    artifact: str
    node: str | None = None
    busbw_gbps: float | None = None
    results: list[CheckResult] = field(default_factory=list)
    not_understood: list[NotUnderstood] = field(default_factory=list)
    num_not_understood: int = 0
    first_line: int = 1
    last_line: int | None = None

    @property
    def full(self) -> bool:
        """Whether no result has room any more: nothing further need be looked at."""
        return len(self.results) >= _MAX_RESULTS

    def add(
        self,
        check: str,
        outcome: Outcome,
        part: str | None = None,
        detail: str = "",
        category: Category | None = None,
        line: int | None = None,
        *,
        at: datetime | None = None,
        node: str | None = None,
        bandwidth: Bandwidth | None = None,
    ) -> None:
        """One result; a result that passed has no category."""
        if self.full:
            self.skip(line, f"more than {_MAX_RESULTS:,} results in one file")
            return
        self.results.append(
            CheckResult(
                node=node or self.node,
                check=check,
                outcome=outcome,
                at=at,
                part=part[:_MAX_PART] if part else None,
                detail=" ".join(detail.split())[:_MAX_DETAIL],
                category=category if outcome in BAD else None,
                artifact=self.artifact,
                line=line,
                bandwidth=bandwidth,
            )
        )

    @property
    def is_good(self) -> bool:
        """Whether something passed, and nothing fails or warns."""
        outcomes = {one.outcome for one in self.results}
        return PASS in outcomes and outcomes.isdisjoint(BAD)

    def saw(self, line: int) -> None:
        """A line of the report: what stands before the first and behind the last is none of it."""
        if self.last_line is None:
            self.first_line = line
        self.last_line = line

    def unknown(
        self, check: str, why: str, part: str | None = None, line: int | None = None
    ) -> None:
        """A check that says neither good nor bad: its output breaks off, or it could not look."""
        self.add(check, SKIPPED, part, why, line=line)
        self.skip(line, f"{check}: {why}")

    def none_found(self, check: str, why: str) -> None:
        """The document is unknown where nothing in it has a result."""
        if not self.results:
            self.unknown(check, why, line=1)

    def skip(self, line: int | None, why: str) -> None:
        """List something that was not understood."""
        self.num_not_understood += 1
        if len(self.not_understood) < _MAX_LISTED:
            self.not_understood.append(NotUnderstood(line, why[:_MAX_DETAIL]))

    def finished(self, name: str, num_lines: int) -> Checks:
        """The results as they are handed on."""
        return Checks(
            self.artifact,
            name,
            tuple(self.results),
            tuple(self.not_understood),
            self.num_not_understood,
            self.first_line,
            num_lines if self.last_line is None else self.last_line,
        )


def add_links(
    check: str,
    part: str,
    down: Sequence[str],
    num_links: int,
    outcome: Outcome,
    line: int,
    reading: Reading,
) -> None:
    """The NVLink links of one part; ``outcome`` is what those that are down say."""
    said = f"{len(down)} of {num_links} links down"
    said += f": {', '.join(down[:_MAX_LINKS])}" if down else ""
    reading.add(check, outcome if down else PASS, part, said, Category.NVLINK, line)


def check_name(family: str, foreign: str) -> str:
    """A stable name of a check from the words of another tool: ``dcgm.memory_bandwidth``."""
    return f"{family}.{_NO_NAME.sub('_', foreign.lower()).strip('_')[:_MAX_NAME] or 'unnamed'}"


def iterate_lines(text: str, most: int = _MAX_LINE) -> Iterator[tuple[int, str]]:
    """Each line with its number from 1, without its end and what is behind ``most`` characters."""
    index, start = 1, 0
    while (end := text.find("\n", start)) >= 0:
        yield index, text[start : min(end, start + most)].rstrip("\r")
        index, start = index + 1, end + 1
    yield index, text[start : start + most].rstrip("\r")


def parse_decimal(text: str | None) -> float | None:
    """The number that a text is; None for any other."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def count_line(text: str, offset: int) -> int:
    """The line, counted from 1, that ``offset`` lies in."""
    return text.count("\n", 0, offset) + 1


# JSON that a tool printed, also where it breaks off: what stands whole in it is kept.
#
# A document that is cut is closed behind its last whole value; a list of events that was cut so
# lacks its last event and no other.

_DECODER: Final = json.JSONDecoder(strict=False)
_SPACE: Final = compile_re(r"[\s,]*")
# A text that does not end goes on to the end of the document.
_TOKEN: Final = compile_re(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{},]', re.DOTALL)
# No tool nests its report deeper than a dozen levels.
_MAX_DEPTH: Final = 64
_MAX_DOCUMENTS: Final = 200_000
_MAX_TEXT: Final = 2000
# "2026-03-14T02:40:59.118402339Z": Go prints nanoseconds, and Python reads microseconds.
_LONG_FRACTION: Final = compile_re(r"(\.\d{6})\d{1,6}")


def iterate_documents(text: str, reading: Reading) -> Iterator[Any]:
    """The values of ``text``: one document, or one behind the other, as JSON lines are.

    What is no JSON is listed in ``reading``, once; what stood before it is given.
    """
    at = _SPACE.match(text).end()  # type: ignore[union-attr]
    for _ in range(_MAX_DOCUMENTS):
        if at >= len(text):
            return
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            reading.skip(text.count("\n", 0, at) + 1, f"not valid JSON: {error}")
            yield from _close_document(text, at)
            return
        yield value
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]


def is_whole(text: str) -> bool:
    """Whether ``text`` is one JSON document, or one behind the other, and none breaks off."""
    reading = Reading("")
    for _ in iterate_documents(text, reading):
        pass
    return not reading.num_not_understood


def _close_document(text: str, start: int) -> Iterator[Any]:
    """The document at ``start``, closed behind its last whole value; nothing where none is."""
    open_ends: list[str] = []
    whole: tuple[int, str] | None = None
    for found in _TOKEN.finditer(text, start):
        token = found[0]
        if token in "{[":
            open_ends.append("}" if token == "{" else "]")
            if len(open_ends) > _MAX_DEPTH:
                return
        elif token in "}]":
            if not open_ends or open_ends.pop() != token:
                break
            whole = found.end(), "".join(reversed(open_ends))
    if whole is None:
        return
    end, ends = whole
    try:
        yield _DECODER.raw_decode(text[start:end] + ends)[0]
    except (ValueError, RecursionError):
        return


def iterate_items(value: object) -> Iterator[Mapping[str, Any]]:
    """The objects of a list, or the one object that stands in its place."""
    if isinstance(value, Mapping):
        yield value
    elif isinstance(value, list):
        yield from (item for item in value if isinstance(item, Mapping))


def find_text(found: Mapping[str, Any], *names: str) -> str:
    """The first of some members that is a text or a number, as one line; empty for none."""
    for name in names:
        value = found.get(name)
        if isinstance(value, str) and value.strip():
            return " ".join(value[:_MAX_TEXT].split())
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63:
            return str(value)
    return ""


def parse_zoned_time(text: str) -> datetime | None:
    """An RFC 3339 time; None for one without a zone, which cannot be placed."""
    try:
        found = datetime.fromisoformat(_LONG_FRACTION.sub(r"\1", text[:64].strip()))
        return None if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
