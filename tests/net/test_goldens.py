"""Everything that is said about some 500 incidents is as it was when it was last accepted.

A change that is meant is shown by ``python -m benchmarks.goldens`` and accepted by ``--accept``.
"""

import pytest

from tests.support.goldens import PARTS, Part, compare, load, record, table


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_what_is_said_has_not_changed(part: Part) -> None:
    rows = compare(load(), list(record(part)))
    assert not rows, (
        f"{len(rows)} answers differ; if all are meant: python -m benchmarks.goldens --accept\n"
        + table(rows)
    )


def test_no_golden_is_left_over() -> None:
    sources = {part.source for part in PARTS}
    assert {name.partition("/")[0] for name in load()} == sources
    assert len(load()) >= 400
