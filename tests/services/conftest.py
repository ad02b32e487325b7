"""What several tests of the services share."""

from pathlib import Path

import pytest

from tests.services.uploads.receive_desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk on a store of its own."""
    return Desk(tmp_path)
