"""The wire form of a dataclass: its fields in order, as plain values for JSON.

Keys are the names of the fields; a class that sends properties too lists all in ``WIRE``.
``Annotated`` may say of a field, beside its type: a text describes it, :class:`Key` is its
name in JSON, :class:`Keywords` are further keywords of its JSON schema, :class:`Rounded` says
which digits are sent, :class:`SentAs` that the value is JSON already, and ``UNSENT`` that it
is not sent. The OpenAPI description is made of the same fields.

Numbers keep ten significant digits, so that the last bits of a library's arithmetic do not
change the bytes of a report.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from typing import Annotated, Any, ClassVar, Final, get_args, get_origin, get_type_hints

_DIGITS: Final = 10
UNSENT: Final = object()
"""Marks a field that is not sent."""
_Hint = Any  # a type, or what typing makes of types


@dataclass(frozen=True, slots=True)
class Key:
    """The name of a field in JSON, where it is not that of the field."""

    name: str


class Keywords:
    """Keywords of JSON Schema that the type does not give, such as ``minimum``."""

    def __init__(self, **keywords: Any) -> None:  # noqa: ANN401 - what JSON can hold
        self.keywords = keywords


@dataclass(frozen=True, slots=True)
class Rounded:
    """A number is sent with so many ``decimals``, or so many significant ``digits``."""

    decimals: int | None = None
    digits: int = _DIGITS

    def of(self, value: Any) -> Any:  # noqa: ANN401 - numbers, or tuples of them
        """The number that is sent; None as None, a tuple as a list."""
        if value is None:
            return None
        if isinstance(value, tuple):
            return [self.of(one) for one in value]
        if self.decimals is None:
            return float(f"{value:.{self.digits}g}")
        return round(value, self.decimals)


@dataclass(frozen=True, slots=True)
class SentAs:
    """The value is JSON of this form already: it is sent as it is."""

    form: _Hint


Count = Annotated[int, Keywords(minimum=0)]
Share = Annotated[float, Keywords(minimum=0, maximum=1)]
Time = Annotated[str, Keywords(format="date-time")]
"""A time in a row that is JSON already."""


@dataclass(frozen=True, slots=True)
class WireField:
    """One key of a wire form: the attribute that it is read from, and its annotated type."""

    key: str
    attribute: str
    hint: _Hint


class WireForm:
    """A dataclass with a wire form."""

    __slots__ = ()
    WIRE: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """The wire form: plain values under the names of the fields."""
        return convert_to_wire(self)


def convert_to_wire(value: object) -> dict[str, Any]:
    """A dataclass as dicts, lists, numbers and text; what is not a finite number is null."""
    if not is_dataclass(value) or isinstance(value, type):
        raise TypeError(f"{type(value).__name__} is no dataclass")
    return {key: plain(getattr(value, name)) for key, name, plain in _make_writers(type(value))}


def format_iso_utc(at: datetime | None) -> str | None:
    """``at`` as RFC 3339 text in UTC with milliseconds, None as None.

    A time without a zone is one of a place that nobody knows, and stays without ``Z``.
    """
    if at is None:
        return None
    if at.tzinfo is None:
        return at.isoformat(timespec="milliseconds")
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@cache
def list_wire_fields(cls: type) -> tuple[WireField, ...]:
    """What a dataclass sends, in order."""
    hints = get_type_hints(cls, include_extras=True)
    names = getattr(cls, "WIRE", ()) or tuple(one.name for one in fields(cls))
    found = []
    for name in names:
        hint = hints[name] if name in hints else _get_property_hint(cls, name)
        notes = list_notes(hint)
        if UNSENT not in notes:
            key = next((note.name for note in notes if isinstance(note, Key)), name)
            found.append(WireField(key, name, hint))
    return tuple(found)


def list_notes(hint: _Hint) -> tuple[Any, ...]:
    """What ``Annotated`` says beside the type."""
    origin: _Hint = get_origin(hint)
    return get_args(hint)[1:] if origin is Annotated else ()


def _get_property_hint(cls: type, name: str) -> _Hint:
    getter = getattr(cls, name).fget
    hint = get_type_hints(getter, include_extras=True)["return"]
    return Annotated[hint, getter.__doc__] if getter.__doc__ else hint


@cache
def _make_writers(cls: type) -> list[tuple[str, str, Callable[[Any], Any]]]:
    return [(one.key, one.attribute, _make_writer(one.hint)) for one in list_wire_fields(cls)]


def _make_writer(hint: _Hint) -> Callable[[Any], Any]:
    for note in list_notes(hint):
        if isinstance(note, Rounded):
            return note.of
        if isinstance(note, SentAs):
            return _keep_as_is
    return _make_plain


def _keep_as_is(value: Any) -> Any:  # noqa: ANN401 - JSON already
    return list(value) if isinstance(value, tuple) else value


def _make_plain(value: Any) -> Any:  # noqa: ANN401 - what JSON can hold
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, datetime):
        return format_iso_utc(value)
    if isinstance(value, Mapping):
        return {str(_make_plain(key)): _make_plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [_make_plain(one) for one in value]
    return convert_to_wire(value) if is_dataclass(value) else value
