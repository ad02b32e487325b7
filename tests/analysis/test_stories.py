"""Stories: incidents rebuilt from public reports whose tellers later learnt the cause.

No story may convict or cordon an innocent. A story whose answer is wrong today stands in
``WRONG_TODAY`` with the answer that is wanted (in ``HARMFUL_TODAY`` where it also convicts
somebody else); when it becomes right, the test fails and its line goes.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

import triage
from benchmarks.stories import INDEX, STORIES, Outcome, Story, judged, render_index, stories
from triage.domain.category import Category

ALL = stories()
LARGEST_BYTES = 60_000

# story: what it should say instead.
WRONG_TODAY = {
    "checkpoint-download-hangs": "storage: two downloads from the blob store never end",
    "the-head-node-ran-out-of-memory": "host_oom on the head node, outside the job",
    "xid45-counts-say-nothing": "nobody: a file that is missing names no rank of a live job",
}
# story: whom it convicts or cordons today, and what it should say instead. Also wrong.
HARMFUL_TODAY: dict[str, str] = {}
WANTED = WRONG_TODAY | HARMFUL_TODAY


@cache
def outcome(story: Story) -> Outcome:
    return judged(story, triage.analyze(story.files).to_dict())


def by_name(story: Story) -> str:
    return story.name


def known(wrong: Mapping[str, str]) -> list[object]:
    """All stories; those of ``wrong`` are strict expected failures."""
    return [
        pytest.param(
            one,
            id=one.name,
            marks=pytest.mark.xfail(strict=True, reason=f"wanted: {wrong[one.name]}")
            if one.name in wrong
            else (),
        )
        for one in ALL
    ]


@pytest.mark.parametrize("story", known(HARMFUL_TODAY))
def test_convicts_and_cordons_no_innocent(story: Story) -> None:
    assert outcome(story).innocent == (), outcome(story).said


@pytest.mark.parametrize("story", known(WANTED))
def test_names_the_place_and_the_part(story: Story) -> None:
    found = outcome(story)
    assert found.answer_right, f"wanted {story.wanted}; said {found.said}"
    assert found.innocent == ()


def a_story(**accept: object) -> Story:
    """A story that wants ``n3`` for its adapter, with ``accept`` changed."""
    wanted = {
        "nodes": ("n3",), "ranks": (), "categories": ("nic",), "kinds": ("crash",),
        "convict": True, "cordon_allowed": ("n3",), "places": (), "nobody_too": False,
    }  # fmt: skip
    told = dict.fromkeys(("name", "title", "source", "known", "turned_out", "said"), "-")
    return Story(**told, **(wanted | accept))  # type: ignore[arg-type]


def a_report(node: str | None, role: str, cordon: tuple[str, ...] = (), **more: object) -> object:
    """A report with one suspect of the category ``nic``; none where ``role`` is empty."""
    row = {"node": node, "ranks": [5], "role": role}
    verdict = {"kind": "crash", "category": "nic", "confidence": 0.9, "cordon": list(cordon)}
    return {"verdict": verdict, "suspects": [row] if role else [], **more}


@pytest.mark.parametrize(
    ("accept", "report", "right", "innocent"),
    [
        pytest.param({}, a_report("n3", "culprit", ("n3",)), True, (), id="its node"),
        pytest.param({}, a_report("n4", "culprit"), False, ("n4",), id="another node"),
        pytest.param({}, a_report("n4", "possible"), False, (), id="another node, possible"),
        pytest.param({}, a_report("n4", "", ("n4",)), False, ("n4",), id="another node cordoned"),
        pytest.param({}, a_report("n3", "", ("n3",)), False, (), id="nobody named"),
        pytest.param(
            {"cordon_allowed": ()}, a_report("n3", "culprit", ("n3",)), True, ("n3",),
            id="a cordon that is not allowed",
        ),
        pytest.param({"nodes": ()}, a_report("n4", "possible"), True, (), id="nobody, possible"),
        pytest.param({"nodes": ()}, a_report("n4", "culprit"), False, ("n4",), id="nobody wanted"),
        pytest.param({"nobody_too": True}, a_report("n3", ""), True, (), id="nobody as well"),
        pytest.param({"ranks": (5,)}, a_report(None, "culprit"), True, (), id="its rank, no map"),
        pytest.param({}, a_report(None, "culprit"), False, ("ranks [5]",), id="another rank"),
        pytest.param(
            {"places": ("r137",)}, a_report("n9", "affected", places=[{"name": "r137"}]), True, (),
            id="its rack",
        ),
    ],
)  # fmt: skip
def test_judges_place_and_harm(
    accept: dict[str, object], report: dict[str, Any], right: bool, innocent: tuple[str, ...]
) -> None:
    found = judged(a_story(**accept), report)
    assert (found.place_right, found.innocent) == (right, innocent)
    assert found.category_right


def test_the_known_wrong_are_stories() -> None:
    assert set(WANTED) <= {one.name for one in ALL}


@pytest.mark.parametrize("story", ALL, ids=by_name)
def test_a_story_is_whole(story: Story) -> None:
    files = [path for path in story.files.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < LARGEST_BYTES
    assert all((story.title, story.source, story.known, story.turned_out, story.said))
    assert story.categories
    assert {Category(one) for one in story.categories}
    assert "://" not in json.dumps([story.source, story.known, story.turned_out, story.said])
    assert set(story.cordon_allowed) <= set(story.nodes)
    assert not (story.ranks and not story.nodes)


def test_the_index_is_made_of_the_stories() -> None:
    """After a change: ``python -m benchmarks.stories --write-index``."""
    assert INDEX.read_text("utf-8") == render_index(ALL)


def test_every_folder_is_a_story() -> None:
    folders = {path.name for path in STORIES.iterdir() if path.is_dir()}
    assert folders == {one.name for one in ALL}
