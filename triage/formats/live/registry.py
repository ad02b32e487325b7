"""The formats of looks at a running job, the surest first."""

from typing import Final

from triage.formats.live.live_format import LiveFormat

__all__ = ["LIVE"]

LIVE: Final[tuple[LiveFormat, ...]] = ()
