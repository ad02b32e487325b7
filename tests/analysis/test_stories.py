"""Stories: incidents rebuilt from public reports whose tellers later learnt the cause.

No story may convict or cordon an innocent. A story whose answer is wrong today stands in
``WRONG_TODAY`` with the answer that is wanted; when it becomes right, its line goes.
"""

import json
from functools import cache
from pathlib import Path

import pytest

import triage
from benchmarks.stories import STORIES, Outcome, Story, judged, stories
from triage.domain.category import Category

ALL = stories()
LARGEST_BYTES = 60_000

# story: what it should say instead, and why it does not.
WRONG_TODAY = {
    "nvlink-domain-contained": "the domain r137 or its node that printed first; names nobody",
}


@cache
def outcome(story: Story) -> Outcome:
    return judged(story, triage.analyze(story.files).to_dict())


def by_name(story: Story) -> str:
    return story.name


def wrong_today() -> list[object]:
    """All stories; those known to be wrong are strict expected failures."""
    return [
        pytest.param(
            one,
            id=one.name,
            marks=pytest.mark.xfail(strict=True, reason=f"wanted: {WRONG_TODAY[one.name]}")
            if one.name in WRONG_TODAY
            else (),
        )
        for one in ALL
    ]


@pytest.mark.parametrize("story", ALL, ids=by_name)
def test_convicts_and_cordons_no_innocent(story: Story) -> None:
    assert outcome(story).innocent == (), outcome(story).said


@pytest.mark.parametrize("story", wrong_today())
def test_names_the_place_and_the_part(story: Story) -> None:
    found = outcome(story)
    assert found.answer_right, f"wanted {story.wanted}; said {found.said}"


def test_the_known_wrong_are_stories() -> None:
    assert set(WRONG_TODAY) <= {one.name for one in ALL}


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


def test_the_page_shows_every_story() -> None:
    page = (Path(__file__).parents[2] / "docs" / "stories.md").read_text("utf-8")
    assert [one.name for one in ALL if f"`{one.name}`" not in page] == []


def test_every_folder_is_a_story() -> None:
    assert {path.name for path in STORIES.iterdir()} == {one.name for one in ALL}
