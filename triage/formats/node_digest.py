r"""A dump's digest as a file: what ``triage collect --digest`` sends in place of the dump.

::

    triage-digest FORM DECODER\n     a line of text: of which form it is, and who decoded it
    an extract of version 3           of one dump: its digest, and its operations in words

It comes from outside. So every number and text is held against what the decoder of dumps
gives, before anything is made of it; what is refused says to send the dump itself.
"""

from collections.abc import Callable
from typing import Any, Final

from triage.domain.patterns import compile_re
from triage.domain.rank_digest import MISSING, OpDescription, RankDigest
from triage.errors import ArtifactError, Corrupt, Forbidden
from triage.formats.flight_recorder import NODE_DIGEST
from triage.parsers.extract.digest import Interned
from triage.parsers.extract.extract import Extract
from triage.parsers.extract.wire import COMPACT, COMPACT_TIMED, pack, unpack
from triage.parsers.flight_recorder.decoder import DESCRIBED_UNITS, HISTORY_UNITS, PENDING_UNITS
from triage.parsers.flight_recorder.limits import DEFAULT_LIMITS
from triage.parsers.flight_recorder.reduce import MAX_STREAMS

FORM: Final = 1
# Counts up with every change of the decoder by which the same dump gives another digest.
DECODER: Final = 1
_FIRST_LINE: Final = compile_re(rb"triage-digest ([0-9]{1,6}) ([0-9]{1,6})\n")
# Some 4 KB are usual: a thousand operations, and a handful of groups.
_MAX_BYTES: Final = 1 << 20
_MAX_PLAIN_BYTES: Final = 8 << 20
# The members of all groups of one rank: of a million ranks, in four kinds of groups.
_MAX_LISTED: Final = 4 << 20
_MAX_TEXT: Final = 512
_MAX_DESCRIPTION: Final = 4096
_MAX_ROWS: Final = 1 << 16
_MAX_NOTES: Final = 16
_MAX_FRAMES: Final = 64
_MAX_FLAGS: Final = 255
_SEND_RAW: Final = "send the dump itself"


def write_node_digest(artifact: str, size_bytes: int, digest: RankDigest, operations: Any) -> bytes:
    """The file of one dump's digest."""
    extract = Extract(artifact, size_bytes, (digest,), operations)
    return b"%s%d %d\n" % (NODE_DIGEST, FORM, DECODER) + pack(extract, compact=True)


def make_node_interned() -> Interned:
    """What many digests from nodes may share: the ranks of large groups are listed in each."""
    return Interned(max_listed=_MAX_LISTED, max_bytes=_MAX_PLAIN_BYTES)


def read_node_digest(
    data: bytes, interned: Interned | None = None
) -> tuple[RankDigest, dict[int, OpDescription]]:
    """The digest, and the words for its operations, of a file of :func:`write_node_digest`.

    ``interned`` is of :func:`make_node_interned`, shared by files that are read one after the
    other.
    Raises :class:`Corrupt` or :class:`Forbidden`, with what is wrong and what to do.
    """
    first = _FIRST_LINE.match(data)
    if first is None:
        raise Corrupt(f"a digest without a first line that says its form: {_SEND_RAW}", offset=0)
    form, decoder = int(first[1]), int(first[2])
    if (form, decoder) != (FORM, DECODER):
        raise Forbidden(
            f"a digest of form {form} by decoder {decoder}; {FORM} by {DECODER} is read here:"
            f" {_SEND_RAW}, or have one version of triage on nodes and service"
        )
    if len(data) > _MAX_BYTES:
        raise Forbidden(f"a digest of {len(data):,} bytes; at most {_MAX_BYTES:,}: {_SEND_RAW}")
    body = data[first.end() :]
    if not body.startswith((COMPACT, COMPACT_TIMED)):
        raise Corrupt(f"a digest of no known version: {_SEND_RAW}", offset=first.end())
    interned = interned or make_node_interned()
    try:
        extract = unpack(body, interned)
    except ArtifactError as error:
        raise Corrupt(f"a digest that cannot be read ({error}): {_SEND_RAW}") from error
    beside = (extract.logs, extract.refused, extract.refused_logs, extract.job_files)
    if len(extract.digests) != 1 or any(beside) or extract.foreign:
        raise Corrupt(f"a digest that holds something else beside: {_SEND_RAW}")
    digest = extract.digests[0]
    operations = dict(extract.operations)
    why = _find_digest_fault(digest, interned) or _find_operations_fault(digest, operations)
    if why:
        raise Corrupt(f"a digest whose {why} is none that a dump gives: {_SEND_RAW}")
    return digest, operations


def _find_digest_fault(digest: RankDigest, interned: Interned) -> str:
    """What of a digest no dump gives; empty for nothing."""
    tests: tuple[tuple[str, Callable[[RankDigest], bool]], ...] = (
        ("numbers", _are_numbers_valid),
        ("text", _are_texts_valid),
        ("groups", lambda digest: _are_groups_valid(digest, interned)),
        ("operations", _are_tables_valid),
    )
    return next((name for name, fits in tests if not fits(digest)), "")


def _is_whole_number(value: object, least: int, most: int = (1 << 63) - 1) -> bool:
    return type(value) is int and least <= value <= most


def _is_moment(value: object) -> bool:
    return value is None or _is_whole_number(value, MISSING + 1)


def _is_bounded_text(value: object, most: int = _MAX_TEXT) -> bool:
    return isinstance(value, str) and len(value) <= most


def _is_optional_text(value: object) -> bool:
    return value is None or _is_bounded_text(value)


def _are_numbers_valid(digest: RankDigest) -> bool:
    counts = (digest.pending_total, digest.num_entries)
    flags = (digest.gaps, digest.eventless, digest.has_entries, digest.block_open)
    moments = (digest.first_created_ns, digest.last_created_ns, digest.last_stamp_ns)
    return (
        all(_is_whole_number(count, 0, DEFAULT_LIMITS.entries) for count in counts)
        and digest.pending_total >= len(digest.pending)
        and _is_whole_number(digest.first_record_id, MISSING)
        and _is_whole_number(digest.max_gap_ns, 0)
        and all(type(flag) is bool for flag in flags)
        and all(map(_is_moment, moments))
        and (
            digest.last_unit is None
            or all(_is_whole_number(part, MISSING) for part in digest.last_unit)
        )
    )


def _are_texts_valid(digest: RankDigest) -> bool:
    return (
        _is_bounded_text(digest.artifact, _MAX_DESCRIPTION)
        and all(map(_is_optional_text, (digest.version, digest.comm_lib, digest.partial)))
        and all(map(_is_optional_text, (part for names in digest.stream_names for part in names)))
        and len(digest.notes) <= _MAX_NOTES
        and all(map(_is_bounded_text, digest.notes))
        and len(digest.stack) <= _MAX_FRAMES
        and all(
            _is_bounded_text(frame.name)
            and _is_bounded_text(frame.filename)
            and type(frame.line) is int
            for frame in digest.stack
        )
    )


def _are_groups_valid(digest: RankDigest, interned: Interned) -> bool:
    def distinct(ranks: tuple[int, ...] | None) -> bool:
        # By its place: what is shared lives on in ``interned``.
        key = id(ranks)
        return ranks is None or interned.get("distinct", key, lambda: len(set(ranks)) == len(ranks))

    return (
        len(digest.groups) <= _MAX_ROWS
        and len(digest.counters) <= _MAX_ROWS
        and all(
            _is_bounded_text(part)
            for row in digest.groups
            for part in (row.key, row.name, row.desc)
        )
        and all(distinct(row.ranks) for row in digest.groups)
        and all(_is_bounded_text(row.key) for row in digest.counters)
        and all(
            _is_moment(part)
            for row in digest.counters
            for part in (row.enqueued, row.started, row.completed)
        )
    )


def _are_tables_valid(digest: RankDigest) -> bool:
    past = digest.history.read()
    flags, lasted = past.flags, past.lasted_us
    return (
        len(digest.streams) <= MAX_STREAMS
        and len(digest.history) <= min(HISTORY_UNITS, digest.num_entries)
        and len(digest.pending) <= PENDING_UNITS
        and len(digest.members) <= digest.num_entries
        and int(flags.max(initial=0)) <= _MAX_FLAGS
        and (lasted is None or int(lasted.min(initial=0)) >= -1)
    )


def _find_operations_fault(digest: RankDigest, operations: dict[int, OpDescription]) -> str:
    """As :func:`fault_in`, for the words of operations: of those that a dump describes."""
    described = set(digest.pending.sig[:DESCRIBED_UNITS].tolist())
    if digest.last_unit is not None:
        described.add(digest.last_unit.sig)
    for signature, one in operations.items():
        words = (one.op, one.sizes, one.dtypes, one.output_sizes)
        fits = (
            all(_is_bounded_text(word, _MAX_DESCRIPTION) for word in words)
            and type(one.uneven) is bool
        )
        if signature not in described or not fits:
            return "description of an operation"
    return ""
