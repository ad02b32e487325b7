"""Rank and node from where a dump lies: a dump does not say who wrote it.

The rank is the last run of digits of the file's stem: ``comm_lib_trace_rank_12``,
``nccl_trace_rank_gpu07_5``, ``_dump_3.json.gz``. The node is the folder below
``nodes/``, or the host between ``rank_`` and the rank.
"""

import re
from itertools import pairwise

from triage.domain.patterns import compile_re

# Endings that collectors and tools add; the stem is what stands before them.
_ENDINGS = compile_re(
    r"(\.(gz|zst|zstd|xz|bz2|json|pkl|pickle|bin|dump|trace|txt|log|out|dat|partial|tmp|bak))+$",
    re.I,
)
# A file that is named like a dump and cannot be one is refused, not passed over.
_DUMP_NAME = compile_re(r"(trace|_dump|rank)[^/]*$", re.I)
_DUMP_ENDINGS = (".gz", ".zst", ".xz", ".bz2", ".json", ".pkl", ".pickle")
# Names that nothing but a recorder, or a tool that keeps its dumps, gives.
_RECORDER_NAME = compile_re(
    r"^(comm_lib|nccl|fr|xccl|hccl|rccl|flight_?recorder)_?(trace|dump)[^/]*_[0-9]{1,7}$", re.I
)
_NUMBER = compile_re(r"[0-9]+")
_LAST_DIGITS = compile_re(r"([0-9]+)[^0-9]*$")
# "nccl_trace_rank_gpu07_5", "comm_lib_trace_rank_node-3.cluster_12"
_HOST_BEFORE_RANK = compile_re(r"rank_(?P<host>[A-Za-z][A-Za-z0-9.-]{0,252})_[0-9]{1,7}$")


def _split_path(artifact: str) -> list[str]:
    """What a path's parts are, without making a path: there are as many as files."""
    return [part for part in artifact.split("/") if part not in ("", ".")]


def _get_stem(artifact: str) -> str:
    return _ENDINGS.sub("", (_split_path(artifact) or [""])[-1])


def rank_in_name(artifact: str) -> int | None:
    """The rank that a file's name claims; None without digits, or with more than seven."""
    match = _LAST_DIGITS.search(_get_stem(artifact))
    digits = match[1].lstrip("0") if match else ""
    if match is None or len(digits) > 7:
        return None
    return int(digits or "0")


def parse_node(artifact: str) -> str | None:
    """The node that a file's folder or name claims, if any."""
    parts = _split_path(artifact)
    for folder, below in pairwise(parts[:-1]):
        if folder == "nodes":
            return below
    match = _HOST_BEFORE_RANK.search(_get_stem(artifact))
    return match["host"] if match else None


def list_prefixes(artifact: str) -> list[str]:
    """What the names of several dumps may have in common: the file's name without the rank, then
    the path up to each folder, then both.
    """
    parts = _split_path(artifact)
    folders = ["/".join(parts[: level + 1]) for level in range(len(parts) - 1)]
    stem = _get_stem(artifact)
    match = _LAST_DIGITS.search(stem)
    name = stem[: match.start()] if match else stem
    return [name, *folders, "/".join([*parts[:-1], name])]


def may_be_dump(artifact: str) -> bool:
    """Whether a name may be a dump's: ``..._trace_rank_3``, ``_dump_3.json.gz``."""
    stem = artifact.rpartition("/")[2].lower()
    while stem.endswith(_DUMP_ENDINGS):
        stem = stem.rpartition(".")[0]
    return stem[-1:].isdecimal() and _DUMP_NAME.search(stem[:-1]) is not None


def is_named_as_dump(artifact: str) -> bool:
    """Whether a name is one that only a recorder gives: ``comm_lib_trace_rank_3``."""
    stem = artifact.rpartition("/")[2].lower()
    pickled = False
    while stem.endswith(_DUMP_ENDINGS):
        stem, _, ending = stem.rpartition(".")
        pickled = pickled or ending in ("pkl", "pickle")
    return _RECORDER_NAME.match(stem) is not None or (pickled and may_be_dump(artifact))


def mask_name_numbers(artifact: str) -> str:
    """A name without its numbers: what the dumps of one folder have in common."""
    return _NUMBER.sub("#", artifact)
