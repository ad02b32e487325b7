"""The wire form: what a dataclass sends, and under which keys."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar

import pytest

from triage.domain.category import Category
from triage.domain.wire import (
    UNSENT,
    Key,
    Rounded,
    SentAs,
    WireForm,
    convert_to_wire,
    list_wire_fields,
)


@dataclass(frozen=True, slots=True)
class Sent(WireForm):
    """One of each."""

    WIRE: ClassVar[tuple[str, ...]] = (
        "from_", "at", "score", "digits", "category", "raw", "twice", "hidden",
    )  # fmt: skip

    from_: Annotated[int, Key("from"), "Where it begins."]
    at: datetime
    score: Annotated[float, Rounded(decimals=2)]
    digits: Annotated[tuple[float, ...] | None, Rounded(digits=3)]
    category: Category | None
    raw: Annotated[dict[str, Any], SentAs(dict[str, float])]
    hidden: Annotated[str, UNSENT] = ""

    @property
    def twice(self) -> int:
        """Twice the begin."""
        return 2 * self.from_


SENT = Sent(
    3, datetime(2026, 1, 2, tzinfo=UTC), 1 / 3, (1234.5678, 0.00012345), Category.GPU, {"a": 1 / 3}
)


def test_sends_what_the_fields_say() -> None:
    assert SENT.to_dict() == {
        "from": 3,
        "at": "2026-01-02T00:00:00.000Z",
        "score": 0.33,
        "digits": [1230.0, 0.000123],
        "category": "gpu",
        "raw": {"a": 1 / 3},
        "twice": 6,
    }


def test_keys_come_in_the_order_of_the_class() -> None:
    assert [one.key for one in list_wire_fields(Sent)] == list(SENT.to_dict())


def test_what_is_no_dataclass_has_no_wire_form() -> None:
    with pytest.raises(TypeError, match="str is no dataclass"):
        convert_to_wire("text")
