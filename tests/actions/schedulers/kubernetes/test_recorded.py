"""What a recording takes for the same request, and what fails."""

import json
from pathlib import Path

import pytest

from tests.support.kube import MERGE, Kube, kube_in_memory
from tests.support.kube_recorded import recording, replaying

NODE = "/api/v1/nodes/n1"
UID = "6f0c2f0e-6a3e-4c8e-9b9a-0d3f4b1c2d3e"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A look, a change with a time in it, and a look again."""
    path = tmp_path / "recorded" / "one.jsonl"
    with kube_in_memory() as (real, _), recording(real, path) as kube:
        kube.request("POST", "/api/v1/nodes", {"metadata": {"name": "n1", "uid": UID}})
        kube.request("GET", NODE)
        kube.request("PATCH", NODE, change("2026-11-26T09:00:00Z", "101"), MERGE)
        kube.request("GET", NODE)
    return path


def change(at: str, version: str) -> dict[str, object]:
    metadata = {"annotations": {"at": at}, "resourceVersion": version}
    return {"metadata": metadata, "spec": {"unschedulable": True}}


def make(kube: Kube) -> None:
    """Say what was said first."""
    body = {"metadata": {"uid": "00000000-0000-4000-8000-000000000000", "name": "n1"}}
    assert kube.request("POST", "/api/v1/nodes", body)[0] == 201


def test_what_differs_from_run_to_run_is_not_in_it(file: Path) -> None:
    text = file.read_text()
    assert [word for word in (UID, "2026-11-26", "127.0.0.1", "Bearer") if word in text] == []
    lines = [json.loads(line) for line in text.splitlines()]
    assert [one["answer"]["metadata"]["resourceVersion"] for one in lines] == [
        "1000", "1000", "1001", "1001",
    ]  # fmt: skip
    assert lines[2]["body"]["metadata"]["resourceVersion"] == "1000"
    assert {one["user"] for one in lines} == {"admin"}


def test_the_same_requests_have_the_same_answers_at_any_time(file: Path) -> None:
    with replaying(file) as kube:
        make(kube)
        assert kube.node("n1")["spec"] == {}
        later = change("2027-01-01T12:34:56.789Z", "1000")
        assert kube.request("PATCH", NODE, later, MERGE)[0] == 200
        assert kube.node("n1")["spec"] == {"unschedulable": True}


def replayed(file: Path, *requests: tuple) -> None:
    with replaying(file) as kube:
        make(kube)
        for one in requests:
            kube.request(*one)


LATER = change("2027-01-01T12:34:56Z", "1000")
CHANGE = ("PATCH", NODE, LATER, MERGE)
LOOK = ("GET", NODE)


def test_looks_may_be_left_out(file: Path) -> None:
    replayed(file, CHANGE)


@pytest.mark.parametrize(
    "other",
    [
        ("PATCH", NODE, change("2027-01-01T12:34:56Z", "999"), MERGE),
        ("PATCH", NODE, {"spec": {"unschedulable": True}}, MERGE),
        ("PATCH", NODE, LATER, MERGE, "actuator"),
        ("PATCH", NODE, LATER, "application/json"),
        ("PATCH", f"{NODE}/status", LATER, MERGE),
        ("DELETE", NODE),
        ("GET", f"{NODE}?limit=1"),
        ("GET", "/api/v1/nodes/n2"),
    ],
)
def test_another_request_fails_the_test(file: Path, other: tuple) -> None:
    with pytest.raises(AssertionError, match="does not hold this"):
        replayed(file, other)


def test_a_change_that_is_left_out_fails_the_test(file: Path) -> None:
    with pytest.raises(AssertionError, match="changes that were not asked for"):
        replayed(file)


def test_more_than_was_recorded_fails_the_test(file: Path) -> None:
    with pytest.raises(AssertionError, match="no more"):
        replayed(file, CHANGE, LOOK, LOOK)
