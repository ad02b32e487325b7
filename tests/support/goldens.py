"""Goldens: digests of everything that is said about an incident, and where two of them differ.

``answers.tsv`` holds one line an incident. Four digests stand for the bytes of
``triage analyze`` as JSON and as text, of ``triage parse`` and, of every third incident, of
``triage explain``, which weighs it all over again without each source; beside them stands what a
person looks at first, so that a change is seen as a change of answers.
"""

import hashlib
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.table import aligned
from simulator.incidents.scenarios import SCENARIOS
from simulator.incidents.whole import Wish, simulate_incident
from triage.analysis.answer import weigh_incident
from triage.analysis.explain import drop_artifact
from triage.formats.gather import gather
from triage.render.data import wire
from triage.render.terminal import explained, text
from triage.report import analyze, explain, read_rows

ROOT = Path(__file__).parents[2]
FILE = ROOT / "tests" / "net" / "answers.tsv"
RECORDED = ROOT / "tests" / "incidents"
AUTHORS = ROOT / "benchmarks" / "authors"
# Incidents of each generator, and parts of each that tests run side by side.
SEEDS, SHARES = 60, 4


@dataclass(frozen=True, slots=True)
class Golden:
    """What is said about one incident; each value is text without tabs."""

    incident: str
    kind: str
    category: str
    confidence: str
    places: str
    reasons: str
    json: str
    text: str
    parse: str
    explain: str


@dataclass(frozen=True, slots=True)
class Part:
    """Some incidents: of one source, every ``SHARES``-th from the ``share``-th on."""

    source: str
    share: int

    @property
    def name(self) -> str:
        return f"{self.source}-{self.share}"


def record(part: Part) -> Iterator[Golden]:
    """What is said now about the incidents of ``part``."""
    with tempfile.TemporaryDirectory() as scratch:
        for name, path in SOURCES[part.source](Path(scratch), part.share):
            yield record_one(f"{part.source}/{name}", path)


def record_one(name: str, path: Path) -> Golden:
    with read_and_weigh_once(path):
        report = analyze(path)
        rows = b"".join(wire.encode_line(row) for row in read_rows(path))
        why = explained.render_json(explain(path), top=None) if is_explained(name) else None
    shown = report.to_dict()
    verdict = shown["verdict"]
    return Golden(
        name,
        verdict["kind"],
        verdict["category"],
        f"{verdict['confidence']:.2f}",
        " ".join(map(place, shown["suspects"][:3])) or "-",
        " ".join(dict.fromkeys(b["detector"] for s in shown["suspects"] for b in s["because"]))
        or "-",
        digest(wire.render(report.answer, top=None)),
        digest(text.render(report.answer).encode()),
        digest(rows),
        "-" if why is None else digest(why),
    )


def is_explained(incident: str) -> bool:
    return int(digest(incident.encode()), 16) % 3 == 0


@contextmanager
def read_and_weigh_once(path: Path) -> Iterator[None]:
    """Give each function of a report what one reading of ``path`` found: that is half its time.

    Placing logs on one clock may leave notes in them, so that each gets a copy of its own. An
    answer and its explanation begin with the same weighing of all that was read.
    """
    inputs, dumps, logs, facts, notes = gather(path, None)
    found = lambda *_, **__: (inputs, dumps, drop_artifact(logs, None), facts, list(notes))  # noqa: E731
    weighed = cache(lambda: weigh_incident(dumps, drop_artifact(logs, None), facts, None))
    with (
        patch("triage.formats.gather.gather", found),
        patch("triage.analysis.answer.weigh_incident", lambda *_: weighed()),
        patch("triage.analysis.explain.weigh_incident", lambda *_: weighed()),
    ):
        yield


def place(suspect: Mapping[str, Any]) -> str:
    ranks = ",".join(map(str, suspect["ranks"][:3]))
    return f"{suspect['role']}:{suspect['node'] or '-'}:{ranks or '-'}".replace(" ", "_")


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def recorded(_: Path, share: int) -> Iterator[tuple[str, Path]]:
    """The incidents of the repository: jobs of ours, stories of others, known wrong answers."""
    marks = ("*/expected.json", "stories/*/story.json", "known/*/*/wanted.json")
    folders = sorted(mark.parent for pattern in marks for mark in RECORDED.glob(pattern))
    for folder in folders[share::SHARES]:
        path = next(path for path in (folder / "files", folder / "fr", folder) if path.is_dir())
        yield str(folder.relative_to(RECORDED)), path


def simulated(scratch: Path, share: int) -> Iterator[tuple[str, Path]]:
    names = sorted(SCENARIOS)
    for number in range(share, SEEDS, SHARES):
        name = names[number % len(names)]
        simulate_incident(name, scratch / str(number), Wish(ranks=16, seed=number))
        yield f"{number:02d}-{name}", scratch / str(number)


def of_field(scratch: Path, share: int) -> Iterator[tuple[str, Path]]:
    from benchmarks.field.make import draw_kinds, make
    from benchmarks.field.writing import write

    for number, kind in list(enumerate(draw_kinds(SEEDS, random.Random(1))))[share::SHARES]:
        name = f"{number:02d}-{kind}"
        (scratch / "truth").mkdir(exist_ok=True)
        write(make(name, kind, f"goldens/{number}"), scratch / "cases" / name, scratch / "truth")
        yield name, scratch / "cases" / name


def of_author(folder: str, module: str) -> Callable[[Path, int], Iterator[tuple[str, Path]]]:
    """Incidents of a generator that another author wrote: scripts that stand by themselves."""

    def incidents(scratch: Path, share: int) -> Iterator[tuple[str, Path]]:
        code = (
            f"import {module} as m, sys\n"
            f"for i, kind, hard in m.plan('1', {SEEDS})[{share}::{SHARES}]:\n"
            "    m.build((sys.argv[1], '1', i, kind, hard)); print(f'c{i:04d}', kind)\n"
        )
        (scratch / "truth").mkdir()
        done = subprocess.run(
            [sys.executable, "-c", code, str(scratch)], cwd=AUTHORS / folder,
            stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        for line in done.stdout.splitlines():
            name, kind = line.split()
            yield f"{name}-{kind}", scratch / "cases" / name

    return incidents


SOURCES: Mapping[str, Callable[[Path, int], Iterator[tuple[str, Path]]]] = {
    "recorded": recorded,
    "simulate": simulated,
    "field": of_field,
    "campaign": of_author("campaign", "make_campaign"),
    "campaign2": of_author("campaign2", "make_campaign2"),
}
PARTS = tuple(Part(source, share) for source in SOURCES for share in range(SHARES))


def load() -> dict[str, Golden]:
    """The goldens as accepted last, by incident."""
    if not FILE.exists():
        return {}
    lines = FILE.read_text("utf-8").splitlines()[1:]
    found = (Golden(*line.split("\t")) for line in lines)
    return {one.incident: one for one in found}


def save(goldens: Mapping[str, Golden]) -> None:
    """Write all goldens, in the order of their names."""
    head = "\t".join(one.name for one in fields(Golden))
    lines = ["\t".join(astuple(goldens[name])) for name in sorted(goldens)]
    FILE.write_text("\n".join([head, *lines]) + "\n", "utf-8")


def compare(before: Mapping[str, Golden], after: Sequence[Golden]) -> list[tuple[str, ...]]:
    """A row for each thing that is said otherwise: incident, what, before, after."""
    rows: list[tuple[str, ...]] = []
    for new in after:
        old = before.get(new.incident)
        if old is None:
            rows.append((new.incident, "new", "-", f"{new.kind} {new.category} {new.places}"))
            continue
        shown = fields(Golden)[1:6]
        changed = [
            (new.incident, one.name, getattr(old, one.name), getattr(new, one.name))
            for one in shown
            if getattr(old, one.name) != getattr(new, one.name)
        ]
        forms = [
            one.name for one in fields(Golden)[6:]
            if getattr(old, one.name) != getattr(new, one.name)
        ]  # fmt: skip
        if forms and not changed:
            changed = [(new.incident, "words of " + " ".join(forms), "-", "-")]
        rows += changed
    return rows


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """The differences for people."""
    return aligned(("incident", "what", "before", "after"), rows)
