"""Literals: what stands for ``{NAME}`` in a pattern, whatever somebody called a folder."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.collectors.artifact import Deadline
from triage.collectors.command import list_options, parser
from triage.collectors.files import Match, open_regular, search
from triage.collectors.options import Misuse, Options


def options(*arguments: str) -> Options:
    return list_options(parser().parse_args(["--job-id", "7", *arguments]))


def found(pattern: str, **literals: str) -> list[str]:
    rows = search((pattern,), Deadline(3600.0), literals=literals)
    return [one.path for one in rows if isinstance(one, Match)]


@pytest.mark.parametrize("name", ["*", "[a]", "?", "{job}", "[!b]", "a b", "$(id)", "-x", "a\\*"])
def test_a_literal_is_that_file_alone(tmp_path: Path, name: str) -> None:
    for folder in (name, "a", "other"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "log").write_text("x")

    assert found(f"{tmp_path}/{{job}}/*", job=name) == [f"{tmp_path}/{name}/log"]
    assert found(f"{tmp_path}/{{job}}/log", job=name) == [f"{tmp_path}/{name}/log"]


@given(st.text(st.characters(exclude_characters="/\x00", exclude_categories=["Cs"]), min_size=1))
def test_no_text_stands_for_another(text: str) -> None:
    matched = found("/proc/self/{job}/*", job=f"none{text}")

    assert matched == []


@pytest.mark.parametrize(
    "argument", ["job", "=x", "Job=x", "job=", "job=..", "job=.", "job=a/b", "job=/", "job=a\nb",
              "job=a\x00b", "job=\x7f"],
)  # fmt: skip
def test_what_is_no_name_of_a_file_is_refused(argument: str) -> None:
    with pytest.raises(Misuse, match=r"no literal|no name of a file"):
        options("--literal", argument)


def test_a_place_without_a_text_is_refused_and_braces_without_literals_are_text() -> None:
    with pytest.raises(Misuse, match="--literal pod=TEXT"):
        options("--literal", "job=a", "--fr", "/jobs/{job}/{pod}/*")
    assert options("--fr", "/jobs/{job}/*").fr == ("/jobs/{job}/*",)
    assert options("--literal", "job=a=b", "--fr", "/{job}").literals == {"job": "a=b"}


def test_a_link_in_the_place_of_a_literal_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "token").write_text("x")
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "mine").symlink_to(tmp_path / "secret")
    (match,) = search((f"{tmp_path}/jobs/{{job}}/token",), Deadline(60.0), literals={"job": "mine"})

    assert isinstance(match, Match)
    assert match.under == "mine/token"
    with pytest.raises(OSError, match="links are not followed"):
        os.close(open_regular(match.path, under=match.under))
