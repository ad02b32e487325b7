"""Compiled code that cannot be kept is compiled again, and runs all the same."""

import errno
import os

import pytest
from numba.core.caching import FunctionCache

from triage.parsers.flight_recorder.jit import compiled


def doubled(number: int) -> int:
    return 2 * number


@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOSPC, errno.EROFS, errno.ENOSYS])
def test_a_cache_that_cannot_be_written_costs_time_and_no_call(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fails(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(FunctionCache, "save_overload", fails)
    assert compiled(doubled)(21) == 42
