"""Estimates: bounds go with the figure, and the wire holds plain values."""

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest

from triage.domain.category import Category
from triage.domain.wire import convert_to_wire
from triage.statistics.estimate import Estimate

SOME = Estimate(2.0, 1.0, 4.0, 7, "h")


def test_bounds_trade_places_where_the_change_falls() -> None:
    assert SOME.growing(lambda h: 60 * h, "min") == Estimate(120.0, 60.0, 240.0, 7, "min")
    assert SOME.falling(lambda h: 1 / h, "per h") == Estimate(0.5, 0.25, 1.0, 7, "per h")


def test_what_is_not_known_stays_so_and_infinity_is_no_bound() -> None:
    bound = Estimate(None, 0.0, 4.0, 0, "per h").falling(lambda x: 1 / x if x else math.inf, "h")

    assert (bound.value, bound.low, bound.high) == (None, 0.25, None)


@dataclass(frozen=True)
class Mixed:
    estimate: Estimate
    category: Category | None
    by_cause: dict[Category, float]
    many: tuple[float, ...]


def test_the_wire_is_plain_json() -> None:
    wire = convert_to_wire(
        Mixed(SOME, Category.GPU, {Category.NIC: 1 / 3}, (float("nan"), math.inf, 1.0))
    )

    assert wire["category"] == "gpu"
    assert wire["by_cause"] == {"nic": 0.3333333333}
    assert wire["many"] == [None, None, 1.0]
    assert json.loads(json.dumps(wire, allow_nan=False)) == wire


def test_only_dataclasses_have_a_wire_form() -> None:
    with pytest.raises(TypeError, match="ndarray"):
        convert_to_wire(np.zeros(2))
