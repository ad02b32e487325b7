"""What holds for every answer to an incident that was changed."""

from collections.abc import Iterator

import pytest

from tests.support.placed_suspects import suspects_held_to_placement


@pytest.fixture(autouse=True)
def suspects_sit_where_they_are_said_to() -> Iterator[None]:
    """A verdict that contradicts the placement in the same report fails its test."""
    with suspects_held_to_placement():
        yield
