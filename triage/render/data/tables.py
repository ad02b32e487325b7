"""Tables: rows as pandas DataFrames whose columns and dtypes are written down.

A table has the same columns and dtypes when it is empty. Text is ``string``, whole numbers
that may be missing are ``Int64``, times are aware UTC, lists are tuples.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from triage.render.words.clean import make_encodable

if TYPE_CHECKING:
    from pandas import DataFrame

# Microseconds reach every year that a log can print; nanoseconds end in 2262.
TIME = "datetime64[us, UTC]"


def parse_columns(text: str) -> Mapping[str, str]:
    """Dtypes by name of columns that are written ``name dtype, name dtype``."""
    columns = (column.split() for column in text.split(","))
    return {name: TIME if dtype == "time" else dtype for name, dtype in columns}


EVIDENCE: Final = parse_columns(
    "artifact string, line Int64, at time, clock string, node string, rank Int64, "
    "kind string, code Int64, gpu string, category string, role string, signature string, "
    "text string, count int64"
)
"""One row per dated fact, as ``triage parse`` prints it; ``count`` is how many lines are alike."""

LATENESS: Final = parse_columns(
    "rank int64, node string, late_ms float64, held_share float64, num_matched int64"
)
"""One row per rank, latest first. ``late_ms`` is the delay it causes per operation,
``held_share`` the share of operations that it holds up, over ``num_matched`` compared ones."""

INCIDENTS: Final = parse_columns(
    "id string, job_id string, cluster string, state string, kind string, category string, "
    "confidence Float64, summary string, cordon object, revision int64, provisional bool, "
    "resolved_as string, created_at time, settled_at time"
)
"""One row per incident, newest first; what the verdict says is missing before there is one."""

ARTIFACTS: Final = parse_columns(
    "id string, node string, rank Int64, kind string, filename string, bytes int64, "
    "state string, reason string, sha256 string, created_at time"
)
"""One row per uploaded file, in the order they came."""

SENT: Final = parse_columns("member string, status int64, reason string, id string")
"""One row per file of an upload; ``status`` 200 was there already, 201 is new, 4xx is refused."""

PROBLEMS: Final = parse_columns(
    "id string, cluster string, category string, summary string, count int64, first_seen time, "
    "last_seen time, nodes object, resolved_as object"
)
"""One row per recurring problem, the last seen first; what is most frequent stands first."""


def build_table(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> "DataFrame":
    """A DataFrame of exactly ``columns``; a key that a row lacks is missing in it.

    Times may be ``datetime`` or RFC 3339 text; other keys of a row are passed over.
    """
    import pandas as pd

    held = list(rows)
    return pd.DataFrame(
        {
            name: pd.Series([convert_cell(row.get(name), dtype) for row in held], dtype=dtype)
            for name, dtype in columns.items()
        }
    )


def convert_cell(value: object, dtype: str) -> object:
    """The value as a column of this dtype holds it; None where none can be."""
    if value is None:
        return None
    if dtype == TIME:
        return _parse_moment(value)
    if dtype == "string":
        return make_encodable(str(value))
    if dtype == "Int64" and isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return None  # a number of a hostile dump that no table can hold
    return tuple(value) if dtype == "object" and isinstance(value, list) else value


def _parse_moment(value: object) -> datetime | None:
    """An aware UTC time; None for a value that is no time."""
    try:
        at = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        return at.astimezone(UTC) if at.tzinfo is not None else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
