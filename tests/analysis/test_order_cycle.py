"""What stands before the operation a rank is stuck in: only what its record tells."""

from types import SimpleNamespace
from typing import Any

import pytest

from triage.analysis.detectors import order_cycle
from triage.analysis.detectors.order_cycle import count_past
from triage.analysis.snapshots.snapshot import UNKNOWN


@pytest.mark.parametrize(
    ("done", "past"),
    [
        pytest.param(7, (("tp", 7),), id="seven"),
        pytest.param(0, (("tp", 0),), id="none yet"),
        pytest.param(UNKNOWN, (), id="the record lost it"),
    ],
)
def test_what_a_record_lost_is_no_other_order(
    monkeypatch: pytest.MonkeyPatch, done: int, past: tuple[Any, ...]
) -> None:
    groups = [SimpleNamespace(desc="dp"), SimpleNamespace(desc="tp")]
    snapshot: Any = SimpleNamespace(groups=groups, row=lambda _group, _rank: 0, has_p2p=[False])
    case: Any = SimpleNamespace(snapshot=snapshot, groups_of=lambda _rank: [0, 1])
    monkeypatch.setattr(order_cycle, "count_issued_before", lambda *_given: done)

    assert count_past(case, 3, SimpleNamespace(group=0)) == past
