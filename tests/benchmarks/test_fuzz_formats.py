"""The fuzzing reads what it makes up, confined, and sees what goes wrong."""

import base64
import json
import os
from pathlib import Path

import pytest

from benchmarks.fuzz_formats import one_child
from benchmarks.fuzzing import child, seeds
from benchmarks.fuzzing.shared import Shared


def test_a_child_reads_until_its_time_is_over(tmp_path: Path) -> None:
    for number, data in enumerate(seeds.of("job")):
        (tmp_path / str(number)).write_bytes(data)
    shared = Shared.new()
    assert list(one_child("job", tmp_path, 1, 1.0, shared)) == []
    assert shared.count > 0


def test_a_child_that_dies_is_a_finding(tmp_path: Path) -> None:
    ((kind, why, data),) = one_child("no such target", tmp_path, 1, 1.0, Shared.new())
    assert (kind, data) == ("death", b"")
    assert "exit status 1" in why


def test_an_exception_is_a_finding_once_for_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    # A child leaves when it has grown; the process of the tests is large, and stays.
    monkeypatch.setattr(child, "LEAVE_MIB", 1 << 20)
    ours, sink = os.pipe()
    inputs = Shared.new()

    def fails(data: bytes) -> None:
        if data == b"memory":
            raise MemoryError
        int(data)

    read = child.watched(fails, inputs, sink)
    for data in (b"1", b"x", b"memory", b"y"):
        read(data)
    os.close(sink)
    with os.fdopen(ours, "rb") as lines:
        (found,) = map(json.loads, lines)
    assert base64.b64decode(found["input"]) == b"x"
    assert found["why"].startswith("ValueError at test_fuzz_formats.py:")
    assert (inputs.count, inputs.input()) == (4, b"y")


@pytest.mark.parametrize("target", seeds.TARGETS)
def test_every_target_has_inputs_to_begin_with(target: str) -> None:
    assert next(seeds.of(target))
