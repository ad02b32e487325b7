"""Whatever the record holds, the fleet answers with numbers or null, and with no error of ours."""

import math
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from tests.fleet.services.fleets import answered, at, failed, row, service_on, told
from triage.domain.category import Category, Role
from triage.errors import Unprocessable
from triage.fleet.domain.exposure import Ending
from triage.fleet.report.options import FleetOptions
from triage.fleet.report.what_if import (
    answer_plan,
    checkpoints_for,
    projection_for,
    spares_for,
)
from triage.fleet.services.answers import (
    look_at_fleet,
    look_at_standings,
    make_fleet_report,
)
from triage.services.context import Context

NODES = ["n0", "n1", "gpu-7", "né", "n 4", "0"]
CLUSTERS = ["a", "b", ""]
DAY = timedelta(days=1)
FAR = (datetime(1990, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC))


@pytest.fixture
def ctx(tmp_path) -> Iterator[Context]:
    with service_on("sqlite", tmp_path) as found:
        yield found


def fill(ctx: Context, chance: random.Random) -> None:
    """Runs without ends, of no length, of no nodes; incidents without runs; any verdict."""
    rows = []
    for _ in range(chance.choice([0, 1, 3, 40])):
        start = chance.uniform(0, chance.choice([1, 500]))
        end = chance.choice([None, start, start + 0.001, start + 1000])
        nodes = ",".join(chance.sample(NODES, chance.randint(0, 4)))
        rows.append(
            row(f"j{chance.randint(0, 4)}", start, end, chance.choice([*Ending]), nodes=nodes,
                gpus=chance.choice([0, 1, 8, 2**31 - 1]), cluster=chance.choice(CLUSTERS))
        )  # fmt: skip
    told(ctx, *rows)
    for number in range(chance.choice([0, 1, 25])):
        # Many within minutes of each other: clusters as wide as they come.
        when = chance.choice([chance.uniform(0, 500), 100 + number / 60])
        incident = failed(ctx, f"j{number % 7}", when, cluster=chance.choice(CLUSTERS), n=number)
        suspects = [
            (node, chance.choice([*Role]), chance.choice([0.0, 1e-300, 0.5, 1.0]))
            for node in chance.sample(NODES, chance.randint(0, 3))
        ]
        kind = chance.choice(["hang", "crash", "straggler", "healthy", "inconclusive"])
        answered(ctx, incident, kind, chance.choice([*Category]), *suspects)


def answers(ctx: Context, chance: random.Random) -> Iterator[Any]:
    until = chance.choice([None, at(0), at(500), at(2000), *FAR])
    since = chance.choice([None, at(-9000), at(499.999)])
    if until is not None:
        since = chance.choice([since, until - timedelta(microseconds=1), until - 3660 * DAY])
    asked = {"since": since, "until": until, "cluster": chance.choice([None, "nowhere", "a", ""])}
    options = FleetOptions(
        reference_gpus=chance.choice([None, 1, 10_000_000]),
        checkpoint_cost_s=chance.choice([10.0, 0.001, 86_400]),
        restart_s=chance.choice([300.0, 0.001, 604_800]),
        compare_last_days=chance.choice([None, 0.01]),
    )
    yield look_at_fleet(ctx, **asked, options=options).to_dict(2000)
    yield look_at_standings(ctx, until=until, cluster=asked["cluster"]).to_dict()
    report = make_fleet_report(ctx, **asked)
    for plan in (
        projection_for(report, chance.choice([1, 10_000_000]), chance.choice([(), (0.001,)])),
        checkpoints_for(
            report, chance.choice([None, 1]), cost_s=chance.choice([None, 86_400.0])
        ),
        spares_for(
            report, chance.choice([None, 1_000_000]), repair_days=0.001,
            confidence=chance.choice([None, 0.5]),
        ),
    ):  # fmt: skip
        yield answer_plan(report, plan)


def numbers_in(value: Any) -> Iterator[float]:
    if isinstance(value, dict | list | tuple):
        for one in value.values() if isinstance(value, dict) else value:
            yield from numbers_in(one)
    elif isinstance(value, float):
        yield value


@pytest.mark.parametrize("seed", range(8))
def test_any_record_has_answers(ctx: Context, seed: int) -> None:
    chance = random.Random(f"any record/{seed}")
    fill(ctx, chance)
    for _ in range(3):
        try:
            for found in answers(ctx, chance):
                orjson.dumps(found)
                assert all(math.isfinite(one) for one in numbers_in(found))
        except Unprocessable:
            continue  # a period that is none
