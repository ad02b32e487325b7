"""The columns of a table by name, in whatever order they come."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from triage.fleet.parsers.rows import RowError

_MAX_COLUMNS: Final = 1000


class Columns:
    """Names are taken without case, blanks and underscores: ``JobID`` is ``job_id``."""

    def __init__(self, header: Sequence[str]) -> None:
        self.num_fields = len(header)
        self.names = tuple(header[:_MAX_COLUMNS])
        self.place: Mapping[str, int] = {
            plain(name): place for place, name in reversed([*enumerate(header[:_MAX_COLUMNS])])
        }

    def __contains__(self, name: str) -> bool:
        return plain(name) in self.place

    def has_all(self, names: Iterable[str]) -> bool:
        """Whether each of them is there."""
        return all(name in self for name in names)

    def first(self, *names: str) -> int | None:
        """Where the first of these stands that is there."""
        return next((self.place[key] for name in names if (key := plain(name)) in self.place), None)

    def checked(self, fields: Sequence[str], free: int | None = None) -> Sequence[str]:
        """The fields of a row. Raises :class:`RowError` where there are too few or too many.

        Those too many are of the column ``free``, if it is said: a text that Slurm, which quotes
        nothing, printed with a bar in it.
        """
        surplus = len(fields) - self.num_fields
        if free is not None and surplus > 0:
            text = "|".join(fields[free : free + surplus + 1])
            return [*fields[:free], text, *fields[free + surplus + 1 :]]
        if surplus:
            raise RowError(f"it has {len(fields)} fields, the header {self.num_fields}")
        return fields


def plain(name: str) -> str:
    """A name without case, blanks and underscores."""
    return name.strip().lower().replace("_", "").replace(" ", "")
