"""From the sampled lines of one log to its steps and marks.

Raw lines are kept while the log is read, and understood at its end: a line that turns out
not to be needed costs nothing but its copy.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from triage.parsers.logs.envelope import clean, read_envelope
from triage.parsers.logs.progress import forms
from triage.parsers.logs.progress.forms import (
    KEPT_OF_A_FORM,
    FormTables,
    compute_level,
    count_trailing_zeros,
)
from triage.parsers.logs.progress.line import is_step, read_values
from triage.parsers.logs.progress.marks import find_mark, is_evaluation
from triage.parsers.logs.progress.series import JobSteps, Mark, MarkKind, Place, Step
from triage.parsers.logs.state import Envelope

_LINE_BYTES: Final = 1500
# Prefixes and clocks stand in front: the rest of a line need not be searched for them.
_HEAD_CHARACTERS: Final = 220
# Forms that are followed, lines that are understood, and places that are kept of a mark.
_FOLLOWED: Final = 64
_UNDERSTOOD: Final = 2048
_PLACES: Final = 64


@dataclass(slots=True)
class Sampled:
    """A line of a form: how many came before it, where it stands, and its text."""

    index: int
    line: int
    order: int
    raw: bytes


@dataclass(slots=True)
class Form:
    """The lines of one form; ``tail`` are its last two. ``mark`` is None where they tell a step."""

    mark: MarkKind | None
    count: int = 0
    lines: list[Sampled] = field(default_factory=list)
    tail: tuple[Sampled, ...] = ()

    def thin(self, level: int) -> None:
        """Keep the lines of one even sample."""
        self.lines = [one for one in self.lines if count_trailing_zeros(one.index) >= level]

    def sample(self, level: int) -> list[Sampled]:
        """An even sample of the lines, the first and the last two among them."""
        kept = [one for one in self.lines if count_trailing_zeros(one.index) >= level]
        first = self.tail[0].index if self.tail else 0
        return [*(one for one in kept if one.index < first), *self.tail]


class Collector:
    """The sampled lines of one log after the other; ``tables`` are those of the scan."""

    def __init__(self, tables: FormTables, *, label: "re.Pattern[str] | None" = None) -> None:
        self.tables = tables
        self.label = label
        self.forms: dict[int, Form] = {}

    def take(self, buffer: bytearray) -> None:
        """Copy what was sampled since the last time; ``buffer`` is about to move on."""
        state, rows = self.tables.state, self.tables.forms
        count = int(state[forms.SAMPLES])
        for number, index, start, end, line, order in self.tables.samples[:count].tolist():
            if rows[number, forms.DEAD]:
                continue
            raw = bytes(buffer[start : min(end, start + _LINE_BYTES)])
            form = self.forms.get(number)
            if form is None:
                form = self.follow(raw)
                if form is None:
                    rows[number, forms.DEAD] = 1
                    continue
                self.forms[number] = form
            form.lines.append(Sampled(index, line, order, raw))
            if len(form.lines) > 2 * KEPT_OF_A_FORM:
                form.thin(int(compute_level(index)))
        state[forms.SAMPLES] = 0
        for number, form in self.forms.items():
            _, seen, _, *places = rows[number].tolist()
            if seen == form.count:
                continue
            # Of the places that the scan keeps, those of an earlier buffer are copied already.
            fresh = [places[4:], places[:4]][-min(seen - form.count, 2) :]
            tail = [*form.tail]
            for back, (start, end, line, order) in zip((1, 0)[-len(fresh) :], fresh, strict=True):
                raw = bytes(buffer[start : min(end, start + _LINE_BYTES)])
                tail.append(Sampled(seen - 1 - back, line, order, raw))
            form.count = seen
            form.tail = tuple(tail[-2:])

    def follow(self, raw: bytes) -> Form | None:
        """A new form, by its first line; None for one that tells nothing."""
        if len(self.forms) >= _FOLLOWED:
            return None
        text = self.unwrapped(raw).text
        counter, values = read_values(text)
        step = is_step(counter, values)
        if step and counter and not is_evaluation(text):
            return Form(None)
        mark = find_mark(text)
        if mark is None and not (step and not is_evaluation(text)):
            return None
        return Form(mark)

    def unwrapped(self, raw: bytes) -> Envelope:
        """A line without its prefixes."""
        return read_envelope(clean(raw), label=self.label)

    def result(self) -> JobSteps | None:
        """All steps and marks of the log; None where it has none."""
        if not self.forms:
            return None
        level = {number: int(compute_level(form.count)) for number, form in self.forms.items()}
        steps = [number for number, form in self.forms.items() if form.mark is None]
        extra = 0
        while sum(len(self.forms[one].sample(level[one] + extra)) for one in steps) > _UNDERSTOOD:
            extra += 1
        found: list[Step] = []
        for number in steps:
            for one in self.forms[number].sample(level[number] + extra):
                found += self.steps_of(one)
        marks = [
            self.mark(form, form.mark) for form in self.forms.values() if form.mark is not None
        ]
        found.sort(key=lambda step: step.place.order)
        marks.sort(key=lambda mark: mark.places[0].order)
        seen = sum(self.forms[one].count for one in steps)
        return JobSteps(tuple(found), tuple(marks), seen)

    def steps_of(self, one: Sampled) -> Iterator[Step]:
        """The step that a line tells; none where it is unlike the first line of its form."""
        text = clean(one.raw)
        envelope = read_envelope(text[:_HEAD_CHARACTERS], label=self.label)
        payload = envelope.text + text[_HEAD_CHARACTERS:]
        # A progress bar has no line end of its own: what it says stands before what follows it.
        if "%|" in text and "%|" not in payload:
            payload = text
        counter, values = read_values(payload)
        if is_step(counter, values):
            yield Step(
                Place(one.line, one.order, envelope.stamp),
                counter,
                one.index,
                values,
                envelope.rank,
                envelope.local_rank,
                envelope.node,
            )

    def mark(self, form: Form, kind: MarkKind) -> Mark:
        """The mark that the lines of a form are."""
        level = int(compute_level(form.count))
        kept = form.sample(level)
        while len(kept) > _PLACES:
            level += 1
            kept = form.sample(level)
        text = ""
        places = []
        for one in kept:
            envelope = self.unwrapped(one.raw)
            text = text or envelope.text[:200]
            places.append(Place(one.line, one.order, envelope.stamp))
        return Mark(kind, text, form.count, tuple(places))
