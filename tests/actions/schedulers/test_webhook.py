"""What a webhook says of the pool."""

import json

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
