"""Whether bytes are a flight-recorder dump, by their beginning; loads no decoder."""

import re

__all__ = ["claimed", "named_as_dump", "shape_of", "what_instead"]

# The keys that only a flight-recorder dump has, near the start of a JSON object.
JSON_DUMP = re.compile(
    rb'"(entries|pg_config|pg_status|comm_lib_version|nccl_version|profiling_name|'
    rb'collective_seq_id|record_id|nccl_comm_state)"\s*:'
)
# A file that is named like a dump and cannot be one is refused, not passed over.
DUMP_NAME = re.compile(r"(trace|_dump|rank)[^/]*$", re.I)
DUMP_ENDINGS = (".gz", ".zst", ".json", ".pkl", ".pickle")


def claimed(head: bytes, artifact: str) -> bool:
    """Whether the content is a dump's: a pickle, or JSON with a dump's keys.

    An empty file, or one of zeros, that is named like a dump is claimed too: the
    process ended before it could write, and that belongs into the report.
    """
    if len(head) >= 2 and head[0] == 0x80 and head[1] <= 5:
        return True
    start = head.lstrip()[:1]
    if start in (b"{", b"["):
        return JSON_DUMP.search(head) is not None or named_as_dump(artifact)
    return named(artifact) and (not head or head[0] in (0, 0x80) or not head.isascii())


# Names that nothing but a recorder, or a tool that keeps its dumps, gives.
RECORDER_NAME = re.compile(
    r"^(comm_lib|nccl|fr|xccl|hccl|rccl|flight_?recorder)_?(trace|dump)[^/]*_[0-9]{1,7}$", re.I
)


def named_as_dump(artifact: str) -> bool:
    """Whether a name is one that only a recorder gives: ``comm_lib_trace_rank_3``."""
    stem = artifact.rpartition("/")[2].lower()
    pickled = False
    while stem.endswith(DUMP_ENDINGS):
        stem, _, ending = stem.rpartition(".")
        pickled = pickled or ending in ("pkl", "pickle")
    return RECORDER_NAME.match(stem) is not None or (pickled and named(artifact))


def shape_of(artifact: str) -> str:
    """A name without its numbers: what the dumps of one folder have in common."""
    return NUMBER.sub("#", artifact)


NUMBER = re.compile(r"[0-9]+")
# What stands in place of a file that was not fetched, by its beginning.
INSTEAD = (
    (
        re.compile(rb"version https://git-lfs\.github\.com/spec/"),
        "a pointer of Git LFS, to be fetched with git lfs pull,",
    ),
    (
        re.compile(rb"\S*\.git/annex/objects/"),
        "a pointer of git-annex, to be fetched with git annex get,",
    ),
    (re.compile(rb"(?i)<(!doctype html|html|head|body)\b"), "a web page"),
    (re.compile(rb"(?i)<\?xml|<Error>"), "an XML answer of a server"),
    (re.compile(rb"PK\x03\x04"), "a zip archive or checkpoint"),
)
# What such a page or answer says of itself.
SAYS = re.compile(rb"(?is)<(title|code|message)>\s*([^<]{1,80}?)\s*</")


def what_instead(head: bytes) -> str | None:
    """What stands where a dump should, with its own words; None for what may be a log."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    for pattern, what in INSTEAD:
        if pattern.match(start):
            found = SAYS.search(head)
            said = f' ("{found[2].decode("utf-8", "replace")}")' if found else ""
            return f"{what}{said} stands in its place"
    return None


def named(artifact: str) -> bool:
    """Whether a name is a dump's: ``..._trace_rank_3``, ``_dump_3.json.gz``."""
    stem = artifact.rpartition("/")[2].lower()
    while stem.endswith(DUMP_ENDINGS):
        stem = stem.rpartition(".")[0]
    return stem[-1:].isdecimal() and DUMP_NAME.search(stem[:-1]) is not None
