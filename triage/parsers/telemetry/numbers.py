"""Numbers and times as exporters and tables of telemetry print them."""

import math
import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from triage.domain.patterns import compile_re

_SECOND: Final = 1_000_000_000
# Beyond, in 2262, ns since the epoch do not fit; as far before 1970 neither.
LAST_S: Final = 9_223_372_035
MOST_NUMBER: Final = 1e300
"""What is larger is no measured value."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
# What a number since the epoch counts, by its size: (below, ns of one).
_UNITS: Final = ((10**11, _SECOND), (10**14, 1_000_000), (10**17, 1_000))
# "1795143855.5", "1795143855500 # {}"; not "1.7e9", which loses what it should say
_COUNT = compile_re(r"(\d{1,19}+)(?:[.,](\d++))?+(?![\de])", re.IGNORECASE)
# "690.12 W", "0x0000000000000040"
_WITH_UNIT = compile_re(r"0x([0-9a-f]{1,16})|[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,4})?")
_WORDS: Final = {
    "active": 1.0, "yes": 1.0, "true": 1.0, "not active": 0.0, "no": 0.0, "false": 0.0,
}  # fmt: skip


@lru_cache(maxsize=1 << 16)
def parse_number(text: str) -> float:
    """A decimal number, ``0x4`` or a word of yes or no; NaN for anything else.

    A unit behind a number is passed over.
    """
    text = text.strip().lower()
    found = _WITH_UNIT.match(text)
    if found is None:
        return _WORDS.get(text, math.nan)
    if found[1] is None:
        return float(found[0])
    mask = int(found[1], 16)
    return float(mask) if mask >> 63 == 0 else math.nan


@lru_cache(maxsize=1 << 12)
def parse_instant(text: str) -> tuple[int, bool] | None:
    """(ns since the epoch, whether no zone is printed) of a time.

    A date and time with ``-`` or ``/``, ``T`` or a space, read as UTC where no zone stands; or a
    number since the epoch, of seconds, ms, us or ns by its size. None for anything else.
    """
    text = text.strip()
    zoneless = False
    if text[4:5] in ("-", "/"):
        clock = text[11:].upper().replace("UTC", "Z").replace(" ", "")
        try:
            at = datetime.fromisoformat(f"{text[:10].replace('/', '-')}T{clock}")
        except ValueError:
            return None
        zoneless = at.tzinfo is None
        ns = ((at.replace(tzinfo=UTC) if zoneless else at) - _EPOCH) // _MICROSECOND * 1_000
    elif (count := _COUNT.match(text)) is not None:
        number, part = int(count[1]), (count[2] or "0")[:9]
        unit = next((one for below, one in _UNITS if number < below), 1)
        ns = number * unit + int(part) * unit // 10 ** len(part)
    else:
        return None
    return (ns, zoneless) if abs(ns) < (LAST_S + 1) * _SECOND else None
