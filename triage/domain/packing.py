"""Dataclasses as lists of plain values, in the order of their fields, and back.

How a field is written follows from its type: a dataclass as a list, a mapping by other keys than
texts as pairs, a time that is none as None. Extracts are kept, so a field that is added later
stands behind the others and has a default, which is what an older extract lacks at the end.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import StrEnum
from operator import attrgetter
from types import UnionType
from typing import Any, Final, Generic, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from triage.domain.evidence import NO_STAMP, Stamp

T = TypeVar("T")
_Convert = Callable[[Any], Any]


class Way(NamedTuple):
    """How a value is written and read; None for as it is."""

    encode: _Convert | None = None
    decode: _Convert | None = None


AS_IT_IS: Final = Way()


class Packing(Generic[T]):
    """How the values of one dataclass are written: by default all fields, each by its type.

    ``names`` are the fields that are written, ``ways`` tells of those that are written otherwise.
    """

    def __init__(self, kind: type[T], names: Sequence[str] = (), **ways: Way) -> None:
        hints = get_type_hints(kind)
        self.kind = kind
        self.names = tuple(names) or tuple(one.name for one in fields(kind))  # type: ignore[arg-type]
        chosen = [ways.get(name) or _choose_way(hints[name]) for name in self.names]
        self.encoders = [(k, way.encode) for k, way in enumerate(chosen) if way.encode is not None]
        self.decoders = [(k, way.decode) for k, way in enumerate(chosen) if way.decode is not None]
        self.get: Callable[[T], tuple[Any, ...]] = attrgetter(*self.names)

    def encode(self, one: T) -> list[Any]:
        """The values of its fields."""
        values = list(self.get(one))
        for place, encode in self.encoders:
            values[place] = encode(values[place])
        return values

    def decode(self, values: Sequence[Any]) -> T:
        """What :meth:`encode` wrote, where that are the first fields of the dataclass.

        ValueError, TypeError and KeyError mean damage.
        """
        return self.kind(*self.read(values))

    def read(self, values: Sequence[Any]) -> list[Any]:
        """The values of the fields, as many as there are."""
        found = list(values)
        for place, decode in self.decoders:
            if place >= len(found):
                break
            found[place] = decode(found[place])
        return found


def make_listed(way: Way, make: Callable[[Any], Any]) -> Way:
    """Many values that are written so, as a list; ``make`` gathers them again."""
    encode, decode = way
    return Way(
        None if encode is None else lambda some: [encode(one) for one in some],
        make if decode is None else lambda some: make([decode(one) for one in some]),
    )


def _make_optional(way: Way) -> Way:
    """The same where a value may be None."""
    encode, decode = way
    return Way(
        encode and (lambda value: None if value is None else encode(value)),
        decode and (lambda value: None if value is None else decode(value)),
    )


def _make_pairs(way: Way) -> Way:
    """A mapping whose values are written so, as pairs: keys of JSON are texts."""
    encode, decode = way
    return Way(
        lambda found: [[key, encode(one) if encode else one] for key, one in found.items()],
        lambda pairs: {key: decode(one) if decode else one for key, one in pairs},
    )


_STAMP_VALUES: Final = attrgetter("wall_ns", "uptime_ns", "has_year", "zone_s", "error_ns")


def encode_stamp(stamp: Stamp) -> tuple[Any, ...] | None:
    """The values of a printed time, None for none."""
    return None if stamp == NO_STAMP else _STAMP_VALUES(stamp)


def decode_stamp(values: Sequence[Any] | None) -> Stamp:
    """What :func:`encode_stamp` wrote."""
    return NO_STAMP if values is None else Stamp(*values)


def _choose_way(hint: object) -> Way:
    """How values of a type are written."""
    kind, parts = get_origin(hint), get_args(hint)
    if hint is Stamp:
        return Way(encode_stamp, decode_stamp)
    if kind is UnionType:
        ways = [way for way in map(_choose_way, parts) if way != AS_IT_IS]
        return _make_optional(ways[0]) if ways else AS_IT_IS
    if kind is tuple and parts[1:] == (...,):
        return make_listed(Way(None, float) if parts[0] is float else _choose_way(parts[0]), tuple)
    if kind is frozenset:
        return make_listed(_choose_way(parts[0]), frozenset)._replace(encode=sorted)
    if kind is Mapping:
        plain = parts[0] is str and _choose_way(parts[1]) == AS_IT_IS
        return Way(dict) if plain else _make_pairs(_choose_way(parts[1]))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return Way(None, {str(one): one for one in hint}.__getitem__)
    if isinstance(hint, type) and is_dataclass(hint):
        packing = Packing(hint)
        return Way(packing.encode, packing.decode)
    return AS_IT_IS
