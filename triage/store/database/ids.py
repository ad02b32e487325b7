"""Ids that sort by the time they were made and cannot be guessed: ``inc_06g2...``."""

import secrets
from datetime import UTC, datetime
from typing import Final

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"


def make_id(prefix: str, now: datetime) -> str:
    """``prefix_`` and 20 characters: milliseconds since the epoch, then 50 random bits."""
    number = (int(now.timestamp() * 1000) << 50) | secrets.randbits(50)
    return prefix + "_" + "".join(_ALPHABET[(number >> shift) & 31] for shift in range(95, -1, -5))


def parse_made_at(made: str) -> datetime | None:
    """When an id was made; None for what is none of ours."""
    digits = made.rpartition("_")[2]
    if len(digits) != 20 or not set(digits) <= set(_ALPHABET):
        return None
    number = 0
    for one in digits:
        number = number << 5 | _ALPHABET.index(one)
    return datetime.fromtimestamp((number >> 50) / 1000, UTC)


def is_made_now(made: str, now: datetime) -> bool:
    """Whether an id was made with this very ``now``, to its milliseconds."""
    at = parse_made_at(made)
    return at is not None and int(at.timestamp() * 1000) == int(now.timestamp() * 1000)
