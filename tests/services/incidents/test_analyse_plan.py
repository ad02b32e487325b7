"""When an incident is answered: a decision on plain values, tried as a table."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from triage.domain.states import IncidentState
from triage.services.incidents.analyse import Plan, plan
from triage.settings import Settings
from triage.store.incidents.settling import IncidentProgress

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
SETTINGS = Settings(provisional_every_s=2.0)
COLLECTING = IncidentProgress(
    id="inc_1", state=IncidentState.COLLECTING, facts={}, revision=1, inputs=5,
    answered_inputs=4, num_unread=0, has_files=True, num_artifacts=40, expected_artifacts=100,
    created_at=NOW - timedelta(seconds=20), updated_at=NOW - timedelta(seconds=1),
    settle_at=NOW + timedelta(seconds=60), settled_at=None,
    analysed_at=NOW - timedelta(seconds=10), analyse_s=1.0,
)  # fmt: skip
READY = replace(
    COLLECTING, state=IncidentState.READY, settled_at=NOW - timedelta(minutes=5),
    settle_at=NOW - timedelta(minutes=5), answered_inputs=5,
)  # fmt: skip


def seconds(found: Plan) -> float | None:
    return None if found.again_at is None else (found.again_at - NOW).total_seconds()


@pytest.mark.parametrize(
    ("standing", "answer", "final", "again_s"),
    [
        pytest.param({}, True, False, 60, id="news while it collects"),
        pytest.param({"answered_inputs": 5}, False, False, 60, id="no news"),
        pytest.param(
            {"num_artifacts": 0, "has_files": False}, False, False, 60, id="nothing came yet"
        ),
        pytest.param({"num_artifacts": 0}, True, False, 60, id="events alone, unexpected"),
        pytest.param({"analysed_at": None}, True, False, 60, id="the first answer"),
        pytest.param({"analysed_at": NOW}, False, False, 3, id="not again at once"),
        pytest.param({"analyse_s": 10.0}, False, False, 20, id="a slow answer rests longer"),
        pytest.param({"num_artifacts": 80}, False, False, 2, id="the end is near"),
        pytest.param(
            {"num_artifacts": 99, "updated_at": NOW - timedelta(seconds=9)}, True, False, 60,
            id="the end is near and does not come",
        ),
        pytest.param(
            {"num_artifacts": 60, "analyse_s": 7.0}, False, False, 2,
            id="all will be in before another answer is",
        ),
        pytest.param(
            {
                "num_artifacts": 60, "analyse_s": 7.0, "answered_inputs": 2,
                "analysed_at": NOW - timedelta(minutes=1),
            },
            True, False, 60, id="the newest answer knows less than half of what is in",
        ),
        pytest.param(
            {"num_artifacts": 60, "analyse_s": 6.0, "analysed_at": NOW - timedelta(minutes=1)},
            True, False, 60, id="there is time for another answer",
        ),
        pytest.param(
            {
                "num_artifacts": 60, "analyse_s": 7.0, "analysed_at": NOW - timedelta(minutes=1),
                "expected_artifacts": None,
            },
            True, False, 60, id="nobody knows when all will be in",
        ),
        pytest.param({"settle_at": NOW}, True, True, None, id="it settles"),
        pytest.param({"settle_at": NOW, "num_unread": 3}, True, False, 5, id="files unread"),
        pytest.param(
            {"settle_at": NOW, "num_unread": 3, "answered_inputs": 5}, False, False, 5,
            id="files unread and no news",
        ),
        pytest.param({"settle_at": NOW, "num_artifacts": 0}, True, True, None, id="nothing came"),
    ],
)  # fmt: skip
def test_while_it_collects(
    standing: dict[str, object], answer: bool, final: bool, again_s: float | None
) -> None:
    found = plan(replace(COLLECTING, **standing), SETTINGS, NOW)

    assert (found.answer, found.final, seconds(found)) == (answer, final, again_s)


@pytest.mark.parametrize(
    ("standing", "answer", "again_s"),
    [
        pytest.param({}, False, None, id="nothing came"),
        pytest.param({"inputs": 6, "state": IncidentState.ANALYSING}, True, None, id="late"),
        pytest.param({"inputs": 6, "num_unread": 1}, False, 5, id="late and unread"),
        pytest.param({"state": IncidentState.ANALYSING}, True, None, id="nothing new after all"),
        pytest.param({"state": IncidentState.FAILED}, True, None, id="asked for again"),
    ],
)
def test_after_it_has_settled(
    standing: dict[str, object], answer: bool, again_s: float | None
) -> None:
    found = plan(replace(READY, **standing), SETTINGS, NOW)

    assert (found.answer, seconds(found)) == (answer, again_s)
