"""The columns of a table by name, in whatever order they come."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from triage.fleet.parsers.rows import RowError

__all__ = ["Columns"]

MAX_COLUMNS: Final = 1000


class Columns:
    """Names are taken without case, blanks and underscores: ``JobID`` is ``job_id``."""

    def __init__(self, header: Sequence[str]) -> None:
        self.num_fields = len(header)
        self.place: Mapping[str, int] = {
            plain(name): place for place, name in reversed([*enumerate(header[:MAX_COLUMNS])])
        }

    def __contains__(self, name: str) -> bool:
        return plain(name) in self.place

    def has_all(self, names: Iterable[str]) -> bool:
        """Whether each of them is there."""
        return all(name in self for name in names)

    def first(self, *names: str) -> int | None:
        """Where the first of these stands that is there."""
        return next((self.place[key] for name in names if (key := plain(name)) in self.place), None)

    def checked(self, fields: Sequence[str]) -> Sequence[str]:
        """The fields of a row. Raises :class:`RowError` where there are too few or too many."""
        if len(fields) != self.num_fields:
            raise RowError(f"it has {len(fields)} fields, the header {self.num_fields}")
        return fields


def plain(name: str) -> str:
    return name.strip().lower().replace("_", "").replace(" ", "")
