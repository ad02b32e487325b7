"""Small JSON objects, taken apart key by key."""

from collections.abc import Sequence
from typing import Any

from triage.errors import Place, Unprocessable


def check_keys(body: dict[str, Any], known: Sequence[str], needed: Sequence[str]) -> None:
    """Raises :class:`Unprocessable` for keys that are not known, or not there."""
    places = [Place(f"body/{key[:80]}", "is not known") for key in body if key not in known]
    places += [Place(f"body/{key}", "is missing") for key in needed if body.get(key) is None]
    if places:
        raise _make_wrong(places)


def get_text(body: dict[str, Any], key: str) -> str | None:
    """The text under a key; None where there is none."""
    value = body.get(key)
    if value is None or isinstance(value, str):
        return value
    raise _make_wrong([Place(f"body/{key}", "must be a text")])


def get_int(body: dict[str, Any], key: str) -> int | None:
    """The integer under a key; None where there is none."""
    value = body.get(key)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise _make_wrong([Place(f"body/{key}", "must be an integer")])


def flag_in(body: dict[str, Any], key: str) -> bool:
    """Whether the key is true; false where it is not there."""
    value = body.get(key)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise _make_wrong([Place(f"body/{key}", "must be true or false")])


def get_texts(body: dict[str, Any], key: str) -> list[str] | None:
    """The texts under a key; None where there are none."""
    value = body.get(key)
    if value is None:
        return None
    if not isinstance(value, list):
        raise _make_wrong([Place(f"body/{key}", "must be a list of texts")])
    places = [
        Place(f"body/{key}/{index}", "must be a text")
        for index, one in enumerate(value)
        if not isinstance(one, str)
    ]
    if places:
        raise _make_wrong(places)
    return value


def _make_wrong(places: Sequence[Place]) -> Unprocessable:
    first = places[0]
    return Unprocessable(
        f"{first.where.removeprefix('body/')} {first.message}",
        hint="/docs shows what the body holds",
        places=tuple(places[:20]),
    )
