"""Columns of a DataFrame as plain arrays: times in ns, names of nodes, causes; read strictly."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from triage.domain.category import Category
from triage.domain.hosts import expand
from triage.errors import UsageError
from triage.fleet.parsers.rows import DAY_ZERO

if TYPE_CHECKING:
    from pandas import DataFrame

_Ints = npt.NDArray[np.int64]
NONE_NS: Final = np.iinfo(np.int64).min
"""Stands for a time that is not told."""
DAY_NS: Final = 86_400 * 10**9
FIRST_DAY_NS: Final = round(DAY_ZERO.timestamp()) * 10**9
_MOST_DAYS: Final = 36_600.0


def get_column_values(frame: "DataFrame", name: str) -> list[Any]:
    """The values of a column, in order; None for what is missing, or the whole column."""
    if name not in frame:
        return [None] * len(frame)
    return [value if is_known_value(value) else None for value in frame[name]]


def read_names_column(frame: "DataFrame") -> list[str | None]:
    """The column ``node``; None where it names none."""
    return [
        None if one is None else str(one).strip() or None
        for one in get_column_values(frame, "node")
    ]


def is_known_value(value: object) -> bool:
    """Whether a cell holds something: not None, NaN, NaT or pandas' NA."""
    if value is None:
        return False
    if isinstance(value, str | list | tuple | set | frozenset | np.ndarray):
        return True
    import pandas as pd

    return not bool(pd.isna(value))  # type: ignore[call-overload]


def read_times_column(frame: "DataFrame", table: str, name: str, *, needed: bool = True) -> _Ints:
    """A column of times in ns since the epoch; ``NONE_NS`` where one is missing and may be."""
    if name not in frame and needed:
        raise UsageError(f"{table}: there is no column {name}")
    found = []
    for row, value in enumerate(get_column_values(frame, name)):
        if value is None and needed:
            raise UsageError(f"{table}, row {row}: {name} is missing")
        found.append(
            NONE_NS if value is None else parse_instant_ns(value, f"{table}, row {row}: {name}")
        )
    return np.array(found, np.int64)


def read_days_column(frame: "DataFrame", table: str, name: str, *, needed: bool = True) -> _Ints:
    """A column of days since a day that nobody names, in ns since ``FIRST_DAY_NS``."""
    if name not in frame:
        if needed:
            raise UsageError(f"{table}: there is no column {name}")
        return np.full(len(frame), NONE_NS)
    found = []
    for row, value in enumerate(get_column_values(frame, name)):
        try:
            day = None if value is None and not needed else float(value)
        except (TypeError, ValueError) as error:
            raise UsageError(f"{table}, row {row}: {name} {value!r:.60} is no number") from error
        if day is not None and not abs(day) < _MOST_DAYS:
            raise UsageError(f"{table}, row {row}: {name} cannot be {day}")
        found.append(NONE_NS if day is None else FIRST_DAY_NS + round(day * DAY_NS))
    return np.array(found, np.int64)


def parse_instant_ns(value: object, where: str) -> int:
    """A time in ns since the epoch; one without a zone is UTC. Raises UsageError."""
    import pandas as pd

    try:
        at = pd.Timestamp(value)  # type: ignore[arg-type]
        at = at.tz_localize("UTC") if at.tzinfo is None else at.tz_convert("UTC")
        return int(at.as_unit("ns").value)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"{where}: {value!r:.60} is no time") from error


def read_numbers_column(frame: "DataFrame", table: str, name: str) -> _Ints:
    """A column of whole numbers from 0 up; 0 where one is missing."""
    found = []
    for row, value in enumerate(get_column_values(frame, name)):
        try:
            number = 0 if value is None else int(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise UsageError(f"{table}, row {row}: {name} {value!r:.60} is no number") from error
        if not 0 <= number < 1 << 31:
            raise UsageError(f"{table}, row {row}: {name} cannot be {number}")
        found.append(number)
    return np.array(found, np.int64)


def read_flags_column(frame: "DataFrame", name: str) -> npt.NDArray[np.bool_]:
    """A column of yes and no; no where it is missing."""
    return np.array([bool(value) for value in get_column_values(frame, name)], np.bool_)


def read_causes_column(frame: "DataFrame", table: str) -> tuple[Category | None, ...]:
    """The column ``cause``: leaves of the categories; None where nobody knows."""
    found: list[Category | None] = []
    for row, value in enumerate(get_column_values(frame, "cause")):
        try:
            found.append(None if value is None else Category(str(value)))
        except ValueError as error:
            raise UsageError(
                f"{table}, row {row}: cause {value!r:.60} is none of {', '.join(Category)}"
            ) from error
    return tuple(found)


def read_members_column(frame: "DataFrame", table: str) -> list[tuple[str, ...]]:
    """The column ``nodes``: names of each row, or a Slurm host list such as ``n[001-128]``."""
    found: list[tuple[str, ...]] = []
    for row, value in enumerate(get_column_values(frame, "nodes")):
        try:
            names = expand(value) if isinstance(value, str) else [str(one) for one in value or ()]
        except (TypeError, ValueError) as error:
            raise UsageError(f"{table}, row {row}: nodes: {error}") from error
        found.append(tuple(dict.fromkeys(names)))
    return found
