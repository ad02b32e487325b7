"""What people write: mails, tickets, hand-over notes, postmortems, a provider's status.

::

    ## Cooling loop leak in gpu-17
    opened: 2026-07-18T04:37:24Z

    Drip tray sensor fired and the BMC cut the supply of the whole server.

A section is a mail of a mailbox, a heading with what stands below it, or an entry of a dated book.
Each of its paragraphs becomes a line with the time of the section, and with its heading in front
where that names something by a number and the paragraph nothing that is called so. Which of these
names are nodes is found out later. What is quoted of a log stays as it is.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from triage.domain.patterns import compile_re
from triage.formats.logs.documents import DocumentFormat, format_line_about
from triage.parsers.logs.stamps import (
    MINUTE_NS,
    WRITTEN,
    WRITTEN_DAY,
    find_stated_zone,
    read_time,
)
from triage.reader.features import MOST_CHARACTERS

# So much of a file tells whether people wrote it.
_HEAD_CHARACTERS: Final = 8 << 10
# Fields by their one word: "Opened at", "Affected node", "Incident start (UTC)".
_TIMES: Final = (
    "date|sent|opened|created|reported|time|timestamp|started|start|when|detected|occurred|posted"
    "|logged|datum|gesendet|erstellt|zeit"
)
_TIME_FIELD: Final = compile_re(rf"(?i)(?:\w+ )?(?:{_TIMES})\b")
_TITLE_FIELD: Final = compile_re(
    r"(?i)(?:short )?(?:subject|title|summary|topic|headline|issue|description|betreff)\b"
)
_PLACE_FIELD: Final = compile_re(
    r"(?i)(?:\w+ )?(?:nodes?|hosts?|hostname|servers?|machine|asset|ci|instance|knoten|rechner)\b"
)
_MAIL_FIELD: Final = compile_re(r"(?i)(?:from|to|von|an)\Z")
_FIELD: Final = compile_re(
    r"[ \t]{0,3}(?:[-*+] )?[*_]{0,2}(?P<name>[^\W\d][\w /()-]{0,40}?)[*_]{0,2} ?:[*_]{0,2}"
    r"(?:[ \t]+(?P<value>\S.*?))?[ \t]*$"
)
_HEADING: Final = compile_re(r" {0,3}(#{1,6})[ \t]+(\S.*?)[ \t#]*$")
_UNDERLINE: Final = compile_re(r"(={3,}|-{3,}|~{3,})[ \t]*$")
_RULE: Final = compile_re(r"[ \t]*[-*_=~+|: ]{3,}$|From \S{1,200} .{10,60}\d\d:\d\d.{0,20}$")
_FENCE: Final = compile_re(r"[ \t]*(?:```|~~~)")
_QUOTE: Final = compile_re(r"[ \t]?(?:> ?){1,8}")
_BULLET: Final = compile_re(r"[ \t]*(?:[-*+•–]|\d{1,2}[.)])[ \t]+")
_TIME: Final = compile_re(WRITTEN)
_DAY: Final = compile_re(WRITTEN_DAY + r"(?![\d.:/-])")
_CLOCK: Final = compile_re(r"\d{1,2}:\d\d(?::\d\d)?(?:Z| ?[A-Z]{3,4}\b)?(?![\w.]|:\d)")
_OPENED: Final = r"[*_\[(]{0,3}"
_CLOSED: Final = compile_re(r"[\])*_]{0,3}[ \t]*[-–—:|]?[\])*_]{0,3}(?:[ \t]+|$)")
_END_OF_DAY: Final = "23:59"
# Asked first: a line that begins with a minute, or a field of a time.
_DATED: Final = compile_re(
    rf"(?im)^[ \t>|*+-]{{0,8}}{_OPENED}(?:(?:\w+ )?(?:{_TIMES})\b[^:\n]{{0,20}}:|{WRITTEN_DAY}"
    r"(?:,? {1,2}(?:at |- )?|T)\d{1,2}:\d\d(?!\d|:\d))"
)
_WORD: Final = compile_re(r"[(\"'*_`]{0,3}[^\W\d_]+(?:['’/-][^\W\d_]+)*[)\"'*_`.,;:!?]{0,4}")
_ENDS: Final = compile_re(r"[.!?][)\"'*_]{0,2}$")
_SENTENCE: Final = compile_re(r"(?<=[.!?])[ \t]+(?=[^a-z\W])")
_INDENTED: Final = ("\t", "    ")
# What programs and kernels print before their words.
_OF_A_PROGRAM: Final = compile_re(
    r"(?:[a-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception|Interrupt)\b|Traceback |NVRM"
    r"|[A-Z]{4,8}: |[\[{<]|[\w.-]{1,100}(?:\[\d+\])?: (?=[\w.-]{1,100}: )"
)
# What machines, jobs and parts are called: a word with a number.
_NAMED: Final = compile_re(r"(?<![\w.-])(?=[\w.-]*[A-Za-z])[\w.-]*\d[\w.-]*")
_NUMBERS: Final = compile_re(r"\d+")
# Of what is no sentence: of a title, and of what a field holds.
_MOST_OF_A_TITLE: Final = 120
_MOST_WORDS: Final = 12
# The level of a day that stands alone, below any heading.
_DEEPEST: Final = 9

_Lines = Sequence[tuple[int, str]]


@dataclass(slots=True)
class _Section:
    """``at`` is its time as it is printed, ``day`` what stands there before the hour and ``zone``
    behind it; ``front`` is what names something in its head.
    """

    level: int
    title: str
    offset: int
    at: str = ""
    day: str = ""
    zone: str = ""
    front: str = ""
    is_told: bool = False

    def take_time(self, text: str) -> bool:
        """Take the time with which ``text`` begins, or the day, at whose end it is told."""
        found, day = _TIME.match(text), _DAY.match(text)
        if found is not None and read_time(found[0]) is not None:
            self.at, self.zone = found[0], found["zone"] or ""
            self.day = text[: found.start("clock")]
        elif day is not None and read_time(f"{day[0]} {_END_OF_DAY}") is not None:
            self.at, self.day, self.zone = f"{day[0]} {_END_OF_DAY}", f"{day[0]} ", ""
        else:
            return False
        return True


@dataclass(slots=True)
class _Reader:
    """A text line by line; what is counted tells whether people wrote it."""

    lines: _Lines
    zone: str = ""
    """Of the times that print none, where the text says so."""
    sections: list[_Section] = field(default_factory=lambda: [_Section(0, "", 0)])
    entry_at: str = ""
    paragraph: list[tuple[int, str]] = field(default_factory=list)
    said_at: str = ""
    num_dated: int = 0
    num_sentences: int = 0
    num_other: int = 0
    is_mail: bool = False
    is_fresh: bool = False
    """Whether a heading was just read."""

    def iterate_records(self) -> Iterator[tuple[int, str]]:
        """(offset, line) of each record."""
        k, begins, fenced = 0, True, False
        while k < len(self.lines):
            offset, line = self.lines[k]
            heading, num = _HEADING.match(line), 1
            is_fence, is_rule = _FENCE.match(line), not line.strip() or _RULE.match(line)
            if fenced and not is_fence:
                yield offset, line
            elif is_fence or is_rule:
                yield from self._close()
                fenced ^= bool(is_fence)
            elif heading is not None:
                yield from self._open(len(heading[1]), heading[2], offset)
            elif begins and (head := self._find_head(k)):
                yield from self._close()
                yield from self._take_head(head, offset)
                num = len(head)
            elif begins and (under := self._find_underline(k)):
                yield from self._open(1 if under == "=" else 2, line, offset)
                num = 1 if under == ":" else 2
            else:
                yield from self._read_line(offset, line)
            begins = bool(is_rule or heading is not None or self.is_fresh)
            self.is_fresh = False
            k += num
        yield from self._close()
        yield from self._tell_title()

    def _find_underline(self, k: int) -> str:
        """What makes a title of a line: ``=`` or ``-`` below it, ``:`` for fields; else empty."""
        below = self.lines[k + 1][1] if k + 1 < len(self.lines) else ""
        if (under := _UNDERLINE.match(below)) is not None:
            return under[1][0]
        return ":" if self._find_head(k + 1) and len(self.lines[k][1]) < _MOST_OF_A_TITLE else ""

    def _open(self, level: int, title: str, offset: int) -> Iterator[tuple[int, str]]:
        """Begin a section, which has the time and the names of the one around it until it tells
        its own.
        """
        yield from self._close()
        yield from self._tell_title()
        while len(self.sections) > 1 and self.sections[-1].level >= level:
            self.sections.pop()
        around = self.sections[-1]
        names = " ".join(_NAMED.findall(around.front))
        one = replace(around, level=level, title=title.strip("*_ \t"), offset=offset, front=names)
        one.is_told = False
        self.sections.append(one)
        self.entry_at, self.is_fresh = "", True
        self.zone = self.zone or find_stated_zone(title) or ""
        found = _TIME.search(title) or _DAY.search(title)
        if found is not None:
            one.take_time(found[0])
        if _NAMED.search(_DAY.sub("", title)):
            one.front = one.title

    def _find_head(self, begin: int) -> list[tuple[str, str]]:
        """The fields of the head of a section, a pair for each of its lines from ``begin`` on; none
        where no time is among them.
        """
        fields: list[tuple[str, str]] = []
        for _, line in self.lines[begin:]:
            found = _FIELD.match(line)
            if found is not None:
                fields.append((found["name"], found["value"] or ""))
            elif fields and line[:1] in (" ", "\t") and line.strip():
                fields.append(("", ""))
            else:
                break
        if not _is_mail(fields):
            long = (k for k, (_, text) in enumerate(fields) if len(text.split()) > _MOST_WORDS)
            fields = fields[: next(long, None)]
        told = _Section(0, "", 0)
        dated = any(_TIME_FIELD.match(name) and told.take_time(text) for name, text in fields)
        return fields if dated else []

    def _take_head(
        self, fields: Sequence[tuple[str, str]], offset: int
    ) -> Iterator[tuple[int, str]]:
        """The head of the section whose heading stands above it, else of another one."""
        one, is_mail = self.sections[-1], _is_mail(fields)
        if is_mail or one.is_told or not one.title:
            yield from self._tell_title()
            one = _Section(0, "", offset)
            self.sections = [one]
        self.is_mail |= is_mail and not self.num_sentences + self.num_other
        self.num_dated += 1
        self.entry_at = ""
        for name, text in reversed(fields):
            if _TIME_FIELD.match(name):
                one.take_time(text)
        titles = [text for name, text in fields if _TITLE_FIELD.match(name)]
        places = [text for name, text in fields if _PLACE_FIELD.match(name)]
        one.title = ": ".join(filter(None, (one.title, *titles[:1])))
        one.front = " ".join(text for text in (*places, one.title) if _NAMED.search(text))

    def _find_time(self, text: str, *, listed: bool) -> tuple[str, str] | None:
        """The time with which a line begins, and what follows it; seconds are a program's, but for
        those of a list.
        """
        text = text.lstrip("*_[(")
        found, one = _TIME.match(text), self.sections[-1]
        printed = "" if found is None else found[0]
        if found is None and one.day and (found := _CLOCK.match(text)) is not None:
            printed = f"{one.day}{found[0]}"
            stamp = read_time(printed)
            printed += one.zone if stamp is not None and stamp.zone_s is None else ""
        stamp = read_time(printed) if printed else None
        if found is None or stamp is None or (stamp.error_ns < MINUTE_NS and not listed):
            return None
        closed = _CLOSED.match(text, found.end())
        return None if closed is None else (printed, text[closed.end() :].strip())

    def _read_line(self, offset: int, line: str) -> Iterator[tuple[int, str]]:
        """A line of words, or one that a program printed."""
        row = line.strip().strip("|").split("|") if line.startswith("|") else ()
        bullet = _BULLET.match(line)
        text = " ".join(" ".join(row).split() or line[bullet.end() if bullet else 0 :].split())
        listed = bullet is not None or bool(row)
        timed = self._find_time(text, listed=listed)
        self.num_dated += timed is not None
        if timed is not None and not timed[1] and self.paragraph:
            self.said_at = timed[0]  # below the words, as status pages print it
            yield from self._close()
        elif timed is not None:
            yield from self._close()
            if not (timed[1] and self.sections[-1].at):
                self.entry_at = timed[0]
            if timed[1]:
                self.said_at, self.paragraph = timed[0], [(offset, timed[1])]
        elif (day := _DAY.fullmatch(text.strip("*_[]: "))) is not None:
            yield from self._open(_DEEPEST, "", offset)
            self.sections[-1].take_time(day[0])
        elif (
            _is_words(text)
            and (listed or self.paragraph or not line.startswith(_INDENTED))
            and _OF_A_PROGRAM.match(text) is None
        ):
            if listed:
                yield from self._close()
            self.zone = self.zone or find_stated_zone(text) or ""
            self.paragraph.append((offset, text))
        else:
            yield from self._close()
            self.num_other += 1
            yield offset, line

    def _tell_title(self) -> Iterator[tuple[int, str]]:
        """The heading of the section, once its time is known."""
        one = self.sections[-1]
        if one.title and not one.is_told:
            one.is_told = True
            yield one.offset, self._format(one.title, one.at)

    def _close(self) -> Iterator[tuple[int, str]]:
        """The open paragraph, in parts that can be read."""
        if not self.paragraph:
            return
        yield from self._tell_title()
        one, lines = self.sections[-1], self.paragraph
        one.is_told = True
        text = " ".join(line for _, line in lines)
        self.num_sentences += len(_ENDS.findall(text)) * len(lines)
        self.num_other += (not _ENDS.search(text)) * len(lines)
        begins, length = [], 0
        for _, line in lines:
            begins.append(length)
            length += len(line) + 1
        at = self.said_at or self.entry_at or one.at
        front, place = one.front, 0
        for part in _split_sentences(text):
            offset = lines[bisect_right(begins, text.index(part, place)) - 1][0]
            place += len(part)
            names = _list_forms(part)
            own = names & _list_forms(front)
            yield offset, self._format(f"{front}: {part}" if front and not own else part, at)
            front = front or " ".join(_NAMED.findall(part))
        self.paragraph, self.said_at = [], ""

    def _format(self, text: str, at: str) -> str:
        """A line of these words and this time, in the zone of the text where it prints none."""
        stamp = read_time(at) if at else None
        bare = self.zone and stamp is not None and stamp.zone_s is None
        return format_line_about(f"{at} {self.zone}" if bare else at, "", text)


def _is_mail(fields: Sequence[tuple[str, str]]) -> bool:
    """Whether the fields say who wrote to whom."""
    return any(_MAIL_FIELD.match(name) for name, _ in fields)


def _is_words(text: str) -> bool:
    """Whether most of a line are plain words."""
    words = text.split()
    plain = sum(_WORD.fullmatch(word) is not None for word in words)
    return 0 < len(words) <= 2 * plain


def _list_forms(text: str) -> set[str]:
    """How what ``text`` names is called, whatever its numbers."""
    return {_NUMBERS.sub("0", name.lower()) for name in _NAMED.findall(text)}


def _split_sentences(text: str) -> Iterator[str]:
    """``text`` in parts of whole sentences, each as long as is read of a line."""
    part = ""
    for sentence in _SENTENCE.split(text):
        if part and len(part) + len(sentence) >= MOST_CHARACTERS:
            yield part
            part = sentence
        else:
            part = f"{part} {sentence}" if part else sentence
    yield part


def _make_reader(text: str) -> _Reader:
    """A reader of these lines, without the marks of what is quoted."""
    lines, offset = [], 0
    for line in text.split("\n"):
        lines.append((offset, _QUOTE.sub("", line.rstrip("\r"), count=1)))
        offset += len(line) + 1
    return _Reader(lines)


def _is_by_people(text: str) -> bool:
    """Whether a section is dated, and most lines are of sentences."""
    head = text[:_HEAD_CHARACTERS]
    if len(text) > len(head):
        head = head[: head.rfind("\n") + 1]
    if not head or _DATED.search(head) is None:
        return False
    reader = _make_reader(head)
    for _ in reader.iterate_records():
        pass
    if not reader.num_dated or not reader.num_sentences:
        return False
    return reader.is_mail or reader.num_sentences >= reader.num_other


def _iterate_records(text: str) -> Iterator[tuple[int, str]]:
    return _make_reader(text).iterate_records()


NOTES: Final = DocumentFormat("notes", _is_by_people, _iterate_records, by_people=lambda _: True)
