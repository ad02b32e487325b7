"""Stories: incidents rebuilt from public reports whose tellers later learnt the cause.

Each folder of ``tests/incidents/stories`` holds what the person on call had
(``files/``) and ``story.json``: the source, what was known, what it turned out to
be, what an engineer says, and which answers are right. A story is right when the
first suspect is one of its nodes (or nobody is convicted, where it has none) and the
category is one of its categories. It does harm when it convicts or cordons anybody else.

    python -m benchmarks.stories                 # the table; status 1 on harm
    python -m benchmarks.stories --write-index   # and the README beside the stories
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.child import ROOT
from benchmarks.table import aligned, machine

STORIES = ROOT / "tests" / "incidents" / "stories"
INDEX = STORIES / "README.md"
_HEAD = """\
# Stories

Incidents that labs and operators described in public and whose cause they learnt later, rebuilt as
folders. Logs are invented, in the shape that the programs print; only facts and short error strings
are from the source. `story.json` holds what was known, what it was, and which answers are right.
`python -m benchmarks.stories` judges them; `--write-index` writes this table. Each story is here
because it is hard in its own way: fit nothing to them.

| story | source | right answer |
|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Story:
    """One ``story.json``; the fields ``nodes`` to ``cordon_allowed`` are its ``accept``.

    ``nodes`` may be named first and convicted; empty means that nobody may be. ``places``
    are names of leaf switches, racks or NVLink domains that say as much as a node;
    ``nobody_too``: to name nobody is as right as to name one of the nodes.
    ``ranks`` and ``kinds`` are right as well where they are given; they are counted apart.
    """

    name: str
    title: str
    source: str
    known: str
    turned_out: str
    said: str
    nodes: tuple[str, ...]
    ranks: tuple[int, ...]
    categories: tuple[str, ...]
    kinds: tuple[str, ...]
    convict: bool
    cordon_allowed: tuple[str, ...]
    places: tuple[str, ...] = ()
    nobody_too: bool = False

    @property
    def files(self) -> Path:
        """The incident folder."""
        return STORIES / self.name / "files"

    @property
    def wanted(self) -> str:
        """The answer that is right, in a few words."""
        who = "nobody"
        if self.nodes:
            who = self.nodes[0] if len(self.nodes) == 1 else f"one of {len(self.nodes)} nodes"
            who += " or nobody" if self.nobody_too else ""
        return f"{who}, {'/'.join(self.categories)}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one report says of a story, and whether that is right.

    ``innocent`` were convicted or cordoned. ``answer_right`` needs place and category.
    ``conviction_right``: somebody is convicted exactly where the evidence convicts.
    """

    story: Story
    said: str
    confidence: float
    place_right: bool
    category_right: bool
    kind_right: bool
    rank_right: bool | None
    conviction_right: bool
    innocent: tuple[str, ...]

    @property
    def answer_right(self) -> bool:
        """Place and category are right."""
        return self.place_right and self.category_right


def stories() -> list[Story]:
    """All stories, in the order of their names."""
    return [_story_of(path) for path in sorted(STORIES.glob("*/story.json"))]


def _story_of(path: Path) -> Story:
    """The story of one ``story.json``; a field that is missing is a ``KeyError``."""
    told = json.loads(path.read_text("utf-8"))
    accept = told["accept"]
    return Story(
        name=path.parent.name,
        title=told["title"],
        source=told["source"],
        known=told["known"],
        turned_out=told["turned_out"],
        said=told["said"],
        nodes=tuple(accept["nodes"]),
        ranks=tuple(accept["ranks"]),
        categories=tuple(accept["categories"]),
        kinds=tuple(accept["kinds"]),
        convict=accept["convict"],
        cordon_allowed=tuple(accept["cordon_allowed"]),
        places=tuple(accept.get("places", ())),
        nobody_too=accept.get("nobody_too", False),
    )


def judged(story: Story, report: Mapping[str, Any]) -> Outcome:
    """The wire form of a report held against its story."""
    verdict, suspects = report["verdict"], report["suspects"]
    convicted = [row for row in suspects if row["role"] == "culprit"]
    strangers = {_name_of(row) for row in convicted if not _is_of(story, row)}
    strangers |= set(verdict["cordon"]) - set(story.cordon_allowed)
    first = suspects[0] if suspects else None
    nobody = not convicted and not verdict["cordon"]
    named = first is not None and _is_of(story, first)
    named |= bool(set(story.places) & _place_names(report))
    place_right = named if story.nodes else nobody
    place_right |= story.nobody_too and nobody
    return Outcome(
        story=story,
        said=_answer_in_words(report),
        confidence=verdict["confidence"],
        place_right=place_right,
        category_right=verdict["category"] in story.categories,
        kind_right=not story.kinds or verdict["kind"] in story.kinds,
        rank_right=_rank_right(story, first),
        conviction_right=bool(convicted) == story.convict,
        innocent=tuple(sorted(strangers)),
    )


def _is_of(story: Story, row: Mapping[str, Any]) -> bool:
    """A suspect is one that the story allows: its node, or its ranks where no node is known."""
    if row["node"] is None:
        return bool(row["ranks"]) and set(row["ranks"]) <= set(story.ranks)
    return row["node"] in story.nodes


def _rank_right(story: Story, first: Mapping[str, Any] | None) -> bool | None:
    """The first suspect names a right rank; None where the story asks for none."""
    if not story.ranks:
        return None
    return first is not None and bool(first["ranks"]) and first["ranks"][0] in story.ranks


def _place_names(report: Mapping[str, Any]) -> set[str]:
    """Names of the switches, racks and domains that the report names."""
    return {str(place["name"]) for place in report.get("places") or ()}


def _name_of(row: Mapping[str, Any]) -> str:
    """A suspect's node, else its ranks."""
    return str(row["node"]) if row["node"] is not None else f"ranks {row['ranks']}"


def _answer_in_words(report: Mapping[str, Any]) -> str:
    """Kind, category, first suspect and cordon."""
    verdict, suspects = report["verdict"], report["suspects"]
    text = f"{verdict['kind']}, {verdict['category']}"
    if suspects:
        first = suspects[0]
        ranks = f" rank {first['ranks'][0]}" if len(first["ranks"]) == 1 else ""
        text += f": {_name_of(first)}{ranks} ({first['role']})"
    else:
        text += ": nobody"
    if verdict["cordon"]:
        text += f", cordons {', '.join(verdict['cordon'])}"
    return text


def _told(chosen: Sequence[Story]) -> Iterator[Outcome]:
    """Each story with what the product says of it today."""
    from triage import analyze

    for story in chosen:
        yield judged(story, analyze(story.files).to_dict())


def _figures(outcomes: Sequence[Outcome]) -> list[str]:
    """The sums, one line each."""
    count = len(outcomes)
    ranked = [one.rank_right for one in outcomes if one.rank_right is not None]
    some = [one for one in outcomes if one.story.nodes]
    nobody = [one for one in outcomes if not one.story.nodes]
    harmed = [one for one in outcomes if one.innocent]

    def share(right: int, of: int) -> str:
        return f"{right} of {of}" + (f" ({100 * right / of:.0f} %)" if of else "")

    return [
        f"right place and category: {share(sum(o.answer_right for o in outcomes), count)}",
        f"right node, rack or nobody: {share(sum(o.place_right for o in outcomes), count)}",
        f"  where a node is wanted: {share(sum(o.place_right for o in some), len(some))}",
        f"  where nobody is wanted: {share(sum(o.place_right for o in nobody), len(nobody))}",
        f"right category: {share(sum(o.category_right for o in outcomes), count)}",
        f"right kind: {share(sum(o.kind_right for o in outcomes), count)}",
        f"right rank, where one is told: {share(sum(map(bool, ranked)), len(ranked))}",
        "convicts where the evidence does, and only there: "
        + share(sum(o.conviction_right for o in outcomes), count),
        f"stories with an innocent convicted or cordoned: {len(harmed)}",
    ]


def _table(outcomes: Sequence[Outcome]) -> str:
    """One row a story."""
    rows = [
        (o.story.name, o.story.wanted, o.said, f"{o.confidence:.2f}", _mark(o)) for o in outcomes
    ]
    return aligned(("story", "wanted", "said", "confidence", "right"), rows)


def _mark(outcome: Outcome) -> str:
    """Right, wrong in what, or harm."""
    if outcome.innocent:
        return "HARM: " + ", ".join(outcome.innocent)
    wrong = [
        word
        for word, right in (
            ("place", outcome.place_right),
            ("category", outcome.category_right),
        )
        if not right
    ]
    return "yes" if not wrong else "no: " + ", ".join(wrong)


def render_index(chosen: Sequence[Story]) -> str:
    """The README beside the stories: one row a story."""
    rows = [(f"`{one.name}`: {one.title}", one.source, one.wanted) for one in chosen]
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return _HEAD + "\n".join(lines) + "\n"


def _main(arguments: Sequence[str] | None = None) -> int:
    """The command; status 1 when an innocent is convicted or cordoned."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="stories; all where none is named")
    parser.add_argument("--wrong", action="store_true", help="only the rows that are not right")
    parser.add_argument("--write-index", action="store_true", help="write the README beside them")
    options = parser.parse_args(arguments)
    chosen = [one for one in stories() if not options.names or one.name in options.names]
    outcomes = list(_told(chosen))
    shown = [o for o in outcomes if not (options.wrong and o.answer_right and not o.innocent)]
    print(machine())
    print(_table(shown))
    print("\n".join(_figures(outcomes)))
    if options.write_index:
        INDEX.write_text(render_index(stories()), encoding="utf-8")
    return 1 if any(one.innocent for one in outcomes) else 0


if __name__ == "__main__":
    sys.exit(_main())
