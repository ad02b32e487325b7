"""How a piece of work ended."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

__all__ = ["Done"]


@dataclass(frozen=True, slots=True)
class Done:
    """``write`` is committed together with the end of the work; ``after`` is called then.

    ``again_at`` is when there is more to do.
    """

    write: Callable[[Session], None] | None = None
    after: Callable[[], None] | None = None
    again_at: datetime | None = None
