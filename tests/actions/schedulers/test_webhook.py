"""What a webhook says of the pool."""

import json
from datetime import UTC, datetime

import pytest

from triage.actions.schedulers.interface import PoolView, SchedulerRefused
from triage.actions.schedulers.webhook import WebhookScheduler
from triage.notify.deliver import Attempt
from triage.notify.guard import Guard


def scheduler(body: object) -> WebhookScheduler:
    made = WebhookScheduler("https://a.example/x", "whsec_x", Guard(), timeout_s=1.0)
    attempt = Attempt(True, 200, None, None, False, 1, json.dumps(body))
    made._ask = lambda kind, **_: attempt
    return made


@pytest.mark.parametrize(
    ("body", "pool"),
    [
        ({"nodes": 512}, PoolView(512)),
        ({"nodes": 512, "out": 3}, PoolView(512, num_out=3)),
        ({"nodes": 0, "out": 0, "more": 1}, PoolView(0)),
        (
            {"nodes": 512, "out": {"n7": "2026-03-14T03:40:59+01:00", "n8": None, "n9": "7"}},
            PoolView(
                512, {"n7": datetime(2026, 3, 14, 2, 40, 59, tzinfo=UTC), "n8": None, "n9": None}
            ),
        ),
    ],
)
def test_counts_what_it_says(body: object, pool: PoolView) -> None:
    assert scheduler(body).pool() == pool


@pytest.mark.parametrize(
    "body",
    [{}, {"out": 3}, {"nodes": -1}, {"nodes": True}, {"nodes": "9"}, {"nodes": 9, "out": None},
     {"nodes": 9, "out": -1}, {"nodes": 9, "out": False}, {"nodes": 9, "out": ["n1"]}, []],
)  # fmt: skip
def test_takes_nothing_else_for_a_number(body: object) -> None:
    with pytest.raises(SchedulerRefused, match=r"pool\.size"):
        scheduler(body).pool()
