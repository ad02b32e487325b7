"""What holds for every answer to an incident that was changed."""

from collections.abc import Iterator

import pytest

from tests.support.seats import held_to_their_seats


@pytest.fixture(autouse=True)
def suspects_sit_where_they_are_said_to() -> Iterator[None]:
    """A verdict that contradicts the placement in the same report fails its test."""
    with held_to_their_seats():
        yield
