"""What a client would like: the ``Accept`` header, weighed."""

import re
from collections.abc import Sequence
from typing import Final

from triage.api.answers.refusals import NotAcceptable
from triage.domain.patterns import compile_re

_RANGE: Final = compile_re(r"([\w!#$&^.+*-]+)/([\w!#$&^.+*-]+)")
_WEIGHT: Final = compile_re(r"(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)", re.ASCII)
_MAX_RANGES: Final = 64


def choose_type(header: str | None, offered: Sequence[str]) -> str:
    """The offered type that weighs most; the earlier one of equals.

    Raises :class:`NotAcceptable` when none is accepted. What is no range is passed over;
    a header with nothing else in it accepts everything, like none at all.
    """
    ranges = _read(header or "")
    if not ranges:
        return offered[0]
    best = max(offered, key=lambda one: _find_weight(one, ranges))
    if _find_weight(best, ranges) <= 0:
        raise NotAcceptable(
            "none of the accepted forms is one that this answer has",
            hint="accept one of " + ", ".join(offered),
        )
    return best


def _read(header: str) -> list[tuple[str, str, float]]:
    found = []
    for part in header.split(",")[:_MAX_RANGES]:
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        match = _RANGE.fullmatch(name)
        if match is None:
            continue
        quality = 1.0
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key.strip() == "q":
                quality = float(value) if _WEIGHT.fullmatch(value.strip()) else 0.0
        found.append((match[1], match[2], quality))
    return found


def _find_weight(offer: str, ranges: Sequence[tuple[str, str, float]]) -> float:
    """The weight that the most specific range gives to a type."""
    main, _, sub = offer.partition("/")
    best = (-1, 0.0)
    for wanted_main, wanted_sub, quality in ranges:
        if (wanted_main, wanted_sub) == (main, sub):
            best = max(best, (2, quality))
        elif (wanted_main, wanted_sub) == (main, "*"):
            best = max(best, (1, quality))
        elif (wanted_main, wanted_sub) == ("*", "*"):
            best = max(best, (0, quality))
    return best[1]
