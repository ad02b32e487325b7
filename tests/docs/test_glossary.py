"""The glossary: retired words stay out of names, and a class name has one meaning."""

import ast
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Final

import pytest

from tests.docs.names import Name, all_names
from tests.docs.pages import ROOT, page

# Each word that is no name, or none by itself, and what to say instead.
RETIRED: Final = tomllib.loads((Path(__file__).parent / "retired_words.toml").read_text("utf-8"))
# A name that outsiders rely on, or that the field itself uses, keeps its word.
MAY_STAY: Final = {
    "Heard": "the schema of the service's description, published with 0.1",
    "lanes": "of a picture",
    # Given before the rule: a name goes from here as its file is next changed.
    **dict.fromkeys(
        (
            "Meetings", "meetings", "meeting_of",
            "test_an_outcry_without_place_follows_from_the_one_cause",
            "test_the_job_file_seats_everybody",
            "test_the_world_communicator_seats_without_a_job_file",
            "test_roots_seats_and_one_row_of_each_rank_are_kept",
            "test_patience_is_earned_by_bytes",
            "test_what_reads_nothing_foreign_is_owed_however_often_it_failed",
        ),
        "given before the rule",
    ),
}  # fmt: skip
# Pronouns for "a thing that somebody told": a name says which thing. The number may only fall.
MOST_BARE: Final = 148
# One form for the description of the service describes the class of the same name.
SCHEMAS: Final = (
    "api/description/schemas.py",
    "fleet/api/schemas.py",
    "fleet/api/check_schemas.py",
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("PipeDoorbell", {"pipe", "doorbell"}),
        ("set_station", {"set", "station"}),
        ("work is due", {"work", "is", "due"}),
    ],
)
def test_a_name_is_its_words(text: str, words: set[str]) -> None:
    assert Name(text, "class", "x.py").words == words


def test_names_of_all_kinds_are_looked_at() -> None:
    assert {name.kind for name in all_names()} == {
        "module", "class", "function", "argument", "attribute", "metric", "log event", "log field",
    }  # fmt: skip


def test_no_name_has_a_retired_word() -> None:
    instead = RETIRED["retired"]
    assert len(instead) > 20
    assert [
        f"{name.path}: {name.kind} {name.text}: say {instead[word]}"
        for name in all_names()
        if name.text not in MAY_STAY
        for word in sorted(name.words & instead.keys())
    ] == []


def test_no_class_and_no_module_is_called_by_a_participle() -> None:
    instead = RETIRED["alone"]
    assert [
        f"{name.path}: {name.kind} {name.text}: say {instead[name.bare]}"
        for name in all_names()
        if name.kind in ("class", "module") and name.text not in MAY_STAY
        if name.bare in instead
    ] == []


def test_fewer_and_fewer_names_are_pronouns() -> None:
    pronouns = {"told", "heard", "said", "given", "taken", "held"}
    bare = [name for name in all_names() if name.bare in pronouns]

    assert len(bare) <= MOST_BARE, bare


def test_no_word_has_two_rows() -> None:
    rows = [
        row.split("|")[1].strip() for row in page("glossary.md").splitlines() if row[:2] == "| "
    ]
    words = [word for row in rows if row not in ("word", "field") for word in row.split(", ")]
    assert len(words) == len(set(words)) > 30


# Classes of one name that several modules hand on, each with its reason. The list may only shrink.
REPEATED: Final = {
    **dict.fromkeys(
        ("Incident", "Job", "Run", "Standing", "Stop"),
        "the same thing, as another floor sees it",
    ),
    **dict.fromkeys(
        ("Frame", "Part", "Section", "Words", "Request", "Columns", "Options"),
        "the simulator's, the client's or a notebook's own, beside the word of the analysis",
    ),
    **dict.fromkeys(
        (
            "Answer", "Attempt", "Channel", "Entry", "Format", "Grid", "Health", "Kind", "Limits",
            "Line", "Match", "Outcome", "Packed", "Place", "Placed", "Reading", "Scope", "Source",
            "Tally", "Target", "Window",
        ),
        "given before the rule, in areas that do not meet",
    ),
}  # fmt: skip


def handed_on() -> dict[str, set[str]]:
    """By the name of a class, the modules of ``triage`` that define it for others to import."""
    defined: dict[str, set[str]] = defaultdict(set)
    imported = set()
    for path in sorted((ROOT / "triage").rglob("*.py")):
        name = str(path.relative_to(ROOT / "triage"))
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and name not in SCHEMAS:
                defined[node.name].add(module)
            if isinstance(node, ast.ImportFrom):
                imported |= {(node.module, one.name) for one in node.names}
    return {
        name: {module for module in modules if (module, name) in imported}
        for name, modules in defined.items()
    }


def test_a_class_that_others_import_has_a_name_of_its_own() -> None:
    """A class that only its own module uses is read beside its meaning."""
    found = {name: sorted(modules) for name, modules in handed_on().items() if len(modules) > 1}

    assert {name: modules for name, modules in found.items() if name not in REPEATED} == {}
