"""An Answer as bytes for the store, so that its pages can be drawn again later.

``to_dict`` is what the outside sees; this keeps everything, also what only the pictures
need. Reading is by the types of the fields: one that is absent takes its default, so
that answers of an older release can be read, and one that is unknown is passed over.

A report that came over the wire is read back as far as it goes: there is no state of each rank and
no wait-for graph in it, so faces that draw those draw nothing.
"""

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import zstandard

from triage.domain.category import Action, Category, VerdictKind
from triage.domain.exact_json import Json, from_exact_json, to_exact_json
from triage.domain.report import SCHEMA, Answer, JobFacts, Verdict
from triage.errors import Corrupt

MEDIA_TYPE: Final = "application/vnd.nccl-triage.answer"
"""Of these bytes over HTTP."""
MAGIC: Final = b"TRA\x01"
# An answer of 16,384 ranks has 3 MB.
_MAX_BYTES: Final = 256 << 20
# What only pictures need; at 16,384 ranks, three quarters of the time that reading takes.
_PICTURED: Final = frozenset({"ranks", "waits"})
_Hint = Any  # a type, or what typing makes of types
_Read = Callable[[Json], Any]


def answer_to_bytes(answer: Answer) -> bytes:
    """The whole answer, compressed; the same answer gives the same bytes."""
    packer = zstandard.ZstdCompressor(level=3, write_checksum=True)
    return MAGIC + packer.compress(to_exact_json(answer))


def answer_from_bytes(data: bytes, *, pictures: bool = True) -> Answer:
    """The answer again; without ``pictures``, ``ranks`` and ``waits`` are left empty.

    Raises :class:`Corrupt` for damaged bytes and unknown versions.
    """
    if data[:4] != MAGIC:
        raise Corrupt("not a stored answer of a known version")
    try:
        if zstandard.frame_content_size(data[4:]) > _MAX_BYTES:
            raise Corrupt("a stored answer is larger than any that is written")
        plain = zstandard.ZstdDecompressor().decompress(data[4:], max_output_size=_MAX_BYTES)
    except zstandard.ZstdError as error:
        raise Corrupt(f"a stored answer cannot be unpacked: {error}") from error
    fields_by_name = from_exact_json(plain)
    if not pictures and isinstance(fields_by_name, dict):
        fields_by_name = {k: v for k, v in fields_by_name.items() if k not in _PICTURED}
    answer: Answer = make_reader(Answer)(fields_by_name)
    return answer


@cache
def make_reader(wanted: _Hint) -> _Read:
    """What makes a value of a type out of its JSON."""
    origin: _Hint = get_origin(wanted)
    if origin in (Union, types.UnionType):
        inner = make_reader(next(one for one in get_args(wanted) if one is not types.NoneType))
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        return _make_tuple_reader(make_reader(get_args(wanted)[0]))
    if isinstance(wanted, type) and issubclass(wanted, StrEnum):
        return _make_choice_reader(wanted)
    if wanted is datetime:
        return _read_time
    if hasattr(wanted, "__dataclass_fields__"):
        return _make_dataclass_reader(wanted)
    return _make_plain_reader(wanted)


def _make_tuple_reader(inner: _Read) -> _Read:
    def read(value: Json) -> Json:
        if not isinstance(value, list):
            raise Corrupt("a stored answer holds no list where one belongs")
        return tuple([inner(one) for one in value])

    return read


def _make_choice_reader(wanted: type[StrEnum]) -> _Read:
    names = {str(one): one for one in wanted}

    def read(value: Json) -> Json:
        found = names.get(value) if isinstance(value, str) else None
        if found is None:
            raise Corrupt(f"a stored answer holds an unknown {wanted.__name__}")
        return found

    return read


def _read_time(value: Json) -> datetime:
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise Corrupt(f"a stored answer holds a time that is none: {error}") from error


def _make_plain_reader(wanted: type) -> _Read:
    allowed = (int, float) if wanted is float else (wanted,)

    def read(value: Json) -> Json:
        if type(value) not in allowed:
            raise Corrupt(f"a stored answer holds no {wanted.__name__} where one belongs")
        return wanted(value)

    return read


def _make_dataclass_reader(wanted: _Hint) -> _Read:
    hints = get_type_hints(wanted)
    readers = {one.name: make_reader(hints[one.name]) for one in fields(wanted)}
    needed = {
        one.name
        for one in fields(wanted)
        if one.default is MISSING and one.default_factory is MISSING
    }

    def read(value: Json) -> Json:
        if not isinstance(value, dict) or not needed <= value.keys():
            raise Corrupt(f"a stored answer holds no whole {wanted.__name__}")
        return wanted(
            **{name: readers[name](one) for name, one in value.items() if name in readers}
        )

    return read


NO_ANSWER = Answer(
    JobFacts(),
    Verdict(VerdictKind.INCONCLUSIVE, Category.NONE, 0.0, "There is no verdict yet.", Action.NONE),
)
"""What stands for an answer before there is one: tables of it are empty."""


def answer_of_report(
    report: Mapping[str, Any], timeline: Sequence[Mapping[str, Any]] = ()
) -> Answer:
    """The Answer behind ``triage.report/1``, as far as it says it; ``timeline`` beside it.

    Keys of a later release are passed over. Raises :class:`Corrupt` for what is no such report.
    """
    if report.get("schema") != SCHEMA:
        raise Corrupt(f"no {SCHEMA}: its schema is {report.get('schema')!r}")
    known = {**report, "collectives": report.get("groups", []), "timeline": list(timeline)}
    if isinstance(known.get("progress"), Mapping):
        known["progress"] = _read_progress(known["progress"])
    slow = known.get("slow")
    if isinstance(slow, Mapping) and "parts" in slow:
        known["slow_job"] = slow
    answer: Answer = make_reader(Answer)(known)
    return answer


def _read_progress(told: Mapping[str, Any]) -> dict[str, Any]:
    """The course of the job under the names of its fields, times in ns."""

    def point(raw: object) -> dict[str, Any] | None:
        return {**raw, "at_ns": _parse_ns(raw.get("at"))} if isinstance(raw, Mapping) else None

    return {
        **told,
        "said": told.get("text", ""),
        "total": told.get("total_steps"),
        "until_ns": _parse_ns(told.get("until")),
        **{name: point(told.get(name)) for name in ("first", "last", "ended")},
        "changes": [{**one, "since": point(one.get("since"))} for one in told.get("changes", ())],
        "slow_ranks": [
            {**one, "local_rank": None, "example": point(one)} for one in told.get("slow_ranks", ())
        ],
    }


def _parse_ns(text: object) -> int | None:
    """RFC 3339 text as ns since the epoch; None for anything else."""
    if not isinstance(text, str):
        return None
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1000) * 1_000_000
    except ValueError:
        return None
