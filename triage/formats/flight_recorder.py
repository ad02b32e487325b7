"""Dumps of the flight recorder: a pickle, JSON with a dump's keys, or the digest that a node made.

::

    {"version": "2.10", "pg_config": {"0": {"name": "0", "ranks": "[0, 1]"}}, "entries": [...]}
"""

from dataclasses import dataclass
from typing import Final

from triage.domain.file_kind import FileKind
from triage.domain.patterns import compile_re
from triage.formats.format import Head
from triage.parsers.flight_recorder.naming import is_named_as_dump, may_be_dump

# How the digest of a dump begins that a node sends in its place.
NODE_DIGEST: Final = b"triage-digest "
# A dump is told by so many bytes.
_HEAD_BYTES: Final = 4096
# The keys that only a flight-recorder dump has, near the start of a JSON object.
_JSON_DUMP: Final = compile_re(
    rb'"(?:(?:entries|pg_config|pg_status|comm_lib_version|nccl_version|profiling_name|'
    rb'collective_seq_id|nccl_comm_state)"\s*:|record_id"\s*:\s*\d)'
)
# NCCL RAS says its version too, behind it how many communicators there are; so do NCCL tests,
# behind the arguments of the program.
_OTHERS: Final = compile_re(
    rb'"communicators(?:_count)?"\s*:|"average_bus_bandwi(?:dth|dith)"\s*:\s*\{'
    rb'|"start_time"\s*:\s*"[^"]{0,40}"\s*,\s*"args"\s*:\s*\['
)

# NCCLX writes what its communicators do into the dump; without any, an empty object.
_STATES: Final = compile_re(rb'"nccl_comm_state"\s{0,20}:\s{0,20}\{\s{0,20}"')


@dataclass(frozen=True, slots=True)
class _DumpFormat:
    """A dump is decoded whole, by :class:`triage.parsers.flight_recorder.decoder.Decoder`."""

    name: str = "flight_recorder"
    words: tuple[str, ...] = ()
    kind: FileKind = FileKind.FLIGHT_RECORDER

    def claims(self, head: Head) -> bool:
        """Whether the content is a dump's.

        An empty file, or one of zeros, that is named like a dump is claimed too: the process
        ended before it could write, and that belongs into the report.
        """
        data = head.data[:_HEAD_BYTES]
        if len(data) >= 2 and data[0] == 0x80 and data[1] <= 5:
            return True
        if data.startswith(NODE_DIGEST):
            return True
        start = data.lstrip()[:1]
        if start in (b"{", b"["):
            known = _JSON_DUMP.search(data) is not None and _OTHERS.search(data) is None
            return known or is_named_as_dump(head.name)
        unwritten = not data or data[0] in (0, 0x80) or not data.isascii()
        return unwritten and may_be_dump(head.name)


FLIGHT_RECORDER: Final = _DumpFormat()


def has_communicators(data: bytes | memoryview) -> bool:
    """Whether a JSON dump tells the states of communicators beside the recorder's entries."""
    return bytes(data[:64]).lstrip()[:1] == b"{" and _STATES.search(data) is not None


# What stands in place of a file that was not fetched, by its beginning.
_INSTEAD: Final = (
    (
        compile_re(rb"version https://git-lfs\.github\.com/spec/"),
        "a pointer of Git LFS, to be fetched with git lfs pull,",
    ),
    (
        compile_re(rb"\S*\.git/annex/objects/"),
        "a pointer of git-annex, to be fetched with git annex get,",
    ),
    (compile_re(rb"(?i)<(!doctype html|html|head|body)\b"), "a web page"),
    (compile_re(rb"(?i)<\?xml|<Error>"), "an XML answer of a server"),
    (compile_re(rb"PK\x03\x04"), "a zip archive or checkpoint"),
)
# What such a page or answer says of itself.
_SAYS: Final = compile_re(rb"(?is)<(title|code|message)>\s*([^<]{1,80}?)\s*</")


def describe_foreign_content(data: bytes) -> str | None:
    """What stands where a dump should, with its own words; None for what may be a log."""
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    for pattern, what in _INSTEAD:
        if pattern.match(start):
            found = _SAYS.search(data)
            said = f' ("{found[2].decode("utf-8", "replace")}")' if found else ""
            return f"{what}{said} stands in its place"
    return None
