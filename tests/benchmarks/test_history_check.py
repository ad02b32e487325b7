"""The checker of histories finds each thing that cannot be, and nothing in what can."""

import math
from dataclasses import replace

import pytest

from benchmarks.history_check import Ending, Kind, Operation, Outcome, StoredFile, violations

NOTHING = Ending(files={}, notes={}, facts=frozenset(), revisions={})


def op(kind: Kind, subject: str, at: float, how: Outcome = Outcome.OK, **more: object) -> Operation:
    """An operation of client ``a`` that takes one second, or never ends where nobody knows."""
    ended_s = math.inf if how is Outcome.UNKNOWN else at + 1.0
    return replace(Operation("a", kind, subject, at, ended_s, how), **more)  # type: ignore[arg-type]


def upload(
    at: float, how: Outcome = Outcome.OK, file: str = "j/f", art: str = "art_1", **more: object
) -> Operation:
    told = {"artifact": art, "incident": "inc_1"} if how is Outcome.OK else {}
    return op(Kind.UPLOAD, file, at, how, **told, **more)


def announce(at: float, incident: str = "inc_1", **more: object) -> Operation:
    return op(Kind.ANNOUNCE, "j", at, incident=incident, **more)


def read(at: float, revision: int = 1, note: str = "", speaker: str = "") -> Operation:
    return op(Kind.READ, "inc_1", at, revision=revision, note=note, speaker=speaker)


def listed(at: float, *artifacts: str, speaker: str = "a", client: str = "a") -> Operation:
    return op(Kind.LIST, "inc_1", at, files=dict.fromkeys(artifacts, speaker), client=client)


def resolve(at: float, note: str, how: Outcome = Outcome.OK, **more: object) -> Operation:
    return op(Kind.RESOLVE, "inc_1", at, how, note=note, **more)


def delete(at: float, subject: str = "art_1", how: Outcome = Outcome.OK) -> Operation:
    return op(Kind.DELETE, subject, at, how)


def end(
    *files: str,
    speaker: str = "a",
    note: tuple[str, str] = ("", ""),
    facts: tuple[str, ...] = (),
    revision: int = 1,
) -> Ending:
    """``inc_1`` with files ``ARTIFACT=SUBJECT``, statements of these tokens, a resolution."""
    there = dict(one.split("=") for one in files)
    return Ending(
        files={art: StoredFile("inc_1", subject, speaker) for art, subject in there.items()},
        notes={"inc_1": note},
        facts=frozenset(("inc_1", token) for token in facts),
        revisions={"inc_1": revision},
    )


FILE = "art_1=j/f"
UNKNOWN, GONE, FAIL = Outcome.UNKNOWN, Outcome.GONE, Outcome.FAIL

POSSIBLE = {
    "nothing": ([], NOTHING),
    "acknowledged and there": ([upload(0), listed(2, "art_1")], end(FILE)),
    "unknown and there": ([upload(0, UNKNOWN)], end(FILE)),
    "unknown and not there": ([upload(0, UNKNOWN)], end()),
    "unknown, then sent again": ([upload(0, UNKNOWN), upload(5)], end(FILE)),
    "a list that began before the upload ended": ([upload(0), listed(0.5)], end(FILE)),
    "deleted and not there": (
        [upload(0), delete(2), listed(4), upload(6, GONE)], end(),
    ),
    "deleted, as far as anybody knows": ([upload(0), delete(2, how=UNKNOWN)], end(FILE)),
    "taken beside its deletion": ([upload(0), delete(2), listed(2.5, "art_1")], end()),
    "its incident was deleted": (
        [upload(0), delete(2, "inc_1"), op(Kind.READ, "inc_1", 4, GONE)], NOTHING,
    ),
    "another incident after the deletion of the first": (
        [announce(0), delete(2, "inc_1"), announce(4, "inc_2")],
        Ending({}, {}, frozenset({("inc_2", "a")}), {"inc_2": 1}),
    ),
    "revisions that overlap": (
        [read(0, 1), replace(read(1.5, 3), ended_s=9.0), read(2, 2)], end(revision=3),
    ),
    "two resolutions at once, either is read": (
        [resolve(0, "x"), resolve(0.5, "y", client="b"), read(3, note="x", speaker="a")],
        end(note=("x", "a")),
    ),
    "an unknown resolution that took effect late": (
        [resolve(0, "x", UNKNOWN), resolve(2, "y"), read(4, note="y", speaker="a")],
        end(note=("x", "a")),
    ),
    "two tokens send one file": (
        [upload(0), upload(0.2, client="b"), listed(3, "art_1", speaker="b")],
        end(FILE, speaker="b"),
    ),
    "announced by two": (
        [announce(0), announce(0.5, client="b")], end(facts=("a", "b")),
    ),
}  # fmt: skip

IMPOSSIBLE = {
    "an acknowledged file is lost": ([upload(0)], end(), "lost"),
    "an acknowledged file is another": ([upload(0)], end("art_1=j/g"), "lost"),
    "an announced incident is lost": ([announce(0)], NOTHING, "lost"),
    "there twice": ([upload(0, UNKNOWN), upload(5)], end(FILE, "art_2=j/f"), "doubled"),
    "unknown and there twice": ([upload(0, UNKNOWN)], end(FILE, "art_2=j/f"), "doubled"),
    "called by two names": ([upload(0), upload(5, art="art_2")], end(FILE), "doubled"),
    "nobody sent it": ([upload(0)], end(FILE, "art_2=j/g"), "unasked"),
    "refused and there": ([upload(0, FAIL)], end(FILE), "unasked"),
    "two incidents of one failure": (
        [announce(0), announce(2, "inc_2")],
        Ending({}, {}, frozenset({("inc_1", "a"), ("inc_2", "a")}), {"inc_1": 1, "inc_2": 1}),
        "two incidents",
    ),
    "a revision falls": ([read(0, 2), read(2, 1)], end(revision=2), "revision"),
    "a revision falls for another client": (
        [read(0, 2), replace(read(2, 1), client="b")], end(revision=2), "revision",
    ),
    "the last revision is an older one": ([read(0, 2)], end(revision=1), "revision"),
    "a list lacks one's own file": ([upload(0), listed(2)], end(FILE), "own art_1"),
    "a list lacks another's file": (
        [upload(0), listed(2, client="b")], end(FILE), "acknowledged art_1",
    ),
    "a list lacks a file that is deleted later": (
        [upload(0), listed(2), delete(4)], end(), "own art_1",
    ),
    "an acknowledged resolution is not read": (
        [resolve(0, "x"), read(2)], end(note=("x", "a")), "no resolution",
    ),
    "an acknowledged resolution is not kept": ([resolve(0, "x")], end(), "no resolution"),
    "a replaced resolution is read": (
        [resolve(0, "x"), resolve(2, "y"), read(4, note="x", speaker="a")],
        end(note=("y", "a")), "had been replaced",
    ),
    "a replaced resolution comes back": (
        [resolve(0, "x"), resolve(2, "y")], end(note=("x", "a")), "had been replaced",
    ),
    "nobody wrote the resolution": ([read(2, note="x", speaker="a")], end(), "nobody wrote"),
    "a refused resolution is read": (
        [resolve(0, "x", FAIL), read(2, note="x", speaker="a")], end(), "nobody wrote",
    ),
    "a deleted file is in a list": ([upload(0), delete(2), listed(4, "art_1")], end(), "returned"),
    "a deleted file is there in the end": ([upload(0), delete(2)], end(FILE), "returned"),
    "a deleted file is taken again": (
        [upload(0), delete(2), upload(4, art="art_2")], end("art_2=j/f"), "taken again",
    ),
    "a file of a deleted incident is taken again": (
        [upload(0), delete(2, "inc_1"), replace(upload(4, art="art_2"), incident="inc_2")],
        Ending({"art_2": StoredFile("inc_2", "j/f", "a")}, {}, frozenset(), {"inc_2": 1}),
        "taken again",
    ),
    "a deleted incident is read": ([delete(0, "inc_1"), read(2)], NOTHING, "returned"),
    "what was gone is deleted": (
        [delete(0, "art_1", GONE), delete(2, "art_1")], NOTHING, "returned",
    ),
    "a file names another token": ([upload(0)], end(FILE, speaker="b"), "speaker"),
    "a list names another token": (
        [upload(0), listed(2, "art_1", speaker="b")], end(FILE), "speaker",
    ),
    "an announcement has no speaker": ([announce(0)], end(), "speaker"),
    "a token that never spoke": ([announce(0)], end(facts=("a", "b")), "speaker"),
    "a resolution is put down to another": (
        [resolve(0, "x"), read(2, note="x", speaker="b")], end(note=("x", "a")), "speaker",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("history", "ending"), POSSIBLE.values(), ids=POSSIBLE)
def test_what_can_be_is_no_violation(history: list[Operation], ending: Ending) -> None:
    assert violations(history, ending) == []


@pytest.mark.parametrize(("history", "ending", "words"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_what_cannot_be_is_found(history: list[Operation], ending: Ending, words: str) -> None:
    found = violations(history, ending)

    assert any(words in one for one in found), found


@pytest.mark.parametrize(("history", "ending", "words"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_the_order_in_which_operations_are_written_down_does_not_matter(
    history: list[Operation], ending: Ending, words: str
) -> None:
    assert sorted(violations(history[::-1], ending)) == sorted(violations(history, ending))
    assert words
