"""Which part of a node a suspect's own words name, and with which codes.

Read from the suspect as the report prints it: its GPUs, and its reasons, which are lines of
logs. The signatures read each line once more, so that a part is what they call it; a line
of another node ("n7 says of it: ...") names nothing of this one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from triage.domain.category import GPU_PARTS, Category
from triage.domain.evidence import Blame, EvidenceRole, Kind
from triage.domain.patterns import compile_re
from triage.domain.report import MAX_REASONS
from triage.signatures.pci import normalize_bus_id, normalize_full_address

if TYPE_CHECKING:
    from triage.signatures.registry import Match

# Of other causes, a GPU among the suspect's only says where its rank sits.
_OF_A_GPU: Final = GPU_PARTS | {Category.IO_BOARD, Category.STRAGGLER}
_WORDS: Final = {Kind.NIC: "NIC", Kind.LINK: "NIC", Kind.NCCL: "NIC", Kind.PCIE: "PCI device"}
# Groups of signatures that hold the name which the system gave to an adapter.
_INTERFACES: Final = ("interface", "first", "second", "netdev")
_CODES: Final = {Kind.XID: "XID", Kind.SXID: "SXID"}
# NCCL and verbs print mlx5_2:1 for port 1 of the adapter mlx5_2.
_VERBS_PORT: Final = compile_re(r":\d+$")
# nvme1n1 is a name space of the disk nvme1.
_NAME_SPACE: Final = compile_re(r"(nvme\d+)(?:c\d+)?n\d+.*")
# What `triage.analysis.joining.wording` puts before a line of another node.
_OF_ANOTHER: Final = " says of it: "


@dataclass(frozen=True, slots=True)
class NamedParts:
    """``parts`` by what identifies them, each with its words (``GPU 0000:5d:00``); ``codes``
    as ``XID 79``. Both in the order in which they were named.
    """

    parts: Mapping[str, str]
    codes: tuple[str, ...]

    @property
    def first(self) -> str | None:
        """The part that was named first; None where none was."""
        return next(iter(self.parts.values()), None)


def list_named_parts(suspect: Mapping[str, Any]) -> NamedParts:
    """What a suspect of the report names: its GPUs first, then what its reasons name.

    A GPU's index counts only where nothing has an address: it would be the same GPU twice.
    """
    gpus = suspect.get("gpus") or () if suspect.get("category") in _OF_A_GPU else ()
    parts = {str(gpu): f"GPU {gpu}" for gpu in gpus}
    codes: dict[str, None] = {}
    indices: dict[str, str] = {}
    names: dict[str, str] = {}
    for reason in (suspect.get("because") or ())[:MAX_REASONS]:
        part, code, name = _parse_part(str(reason.get("text") or ""))
        if code is not None:
            codes.setdefault(code)
        if part is not None:
            key, words = part
            if name is not None:
                names.setdefault(name, key)
            (indices if key.startswith("gpu") else parts).setdefault(key, words)
    # A port complains of the device that is a GPU: that is the GPU.
    again = {
        key for key in parts if normalize_bus_id(key) != key and normalize_bus_id(key) in parts
    }
    kept = {key: words for key, words in parts.items() if key not in again}
    by_address: dict[str, str] = {}
    for key, words in (kept or indices).items():
        # Where a line said which address an interface has, both are one adapter.
        by_address.setdefault(names.get(key, key), words)
    return NamedParts(by_address, tuple(codes))


@lru_cache(maxsize=4096)
def _parse_part(text: str) -> tuple[tuple[str, str] | None, str | None, str | None]:
    """(what identifies the part, its words), code and interface that a line of this node names."""
    # A service that starts need not wait for a thousand patterns to be compiled.
    from triage.signatures.registry import match

    matched = None if _OF_ANOTHER in text else match(text)
    if matched is None or (matched.reading.role or matched.signature.role) not in (
        EvidenceRole.ROOT,
        EvidenceRole.ADVICE,
    ):
        return None, None, None
    if (matched.reading.blame or matched.signature.blame) != Blame.SELF:
        return None, None, None
    code, word = matched.reading.code, _CODES.get(matched.signature.kind)
    if code is None and (printed := matched.found.groupdict().get("code")):
        code = int(printed) if word is not None else None
    told = None if word is None or code is None else f"{word} {code}"
    return _get_part_id(matched), told, _get_interface(matched)


def _get_part_id(matched: "Match") -> tuple[str, str] | None:
    named = {**matched.found.groupdict(), **matched.reading.fields}
    gpu = matched.reading.gpu or normalize_bus_id(named.get("gpu") or "")
    if gpu:
        return gpu, f"GPU {gpu}"
    kind, device = matched.signature.kind, named.get("device") or named.get("netdev")
    if device and kind in _WORDS:
        key = normalize_full_address(device) or _VERBS_PORT.sub("", device)
        return key, f"{_WORDS[kind]} {key}"
    if device and matched.signature.category == Category.SSD:
        key = _NAME_SPACE.sub(r"\1", device)
        return key, f"disk {key}"
    module = (named.get("label") or named.get("part") or "").strip()
    if module and kind == Kind.MEMORY:
        return module, f"DIMM {module}"
    index = named.get("cuda_device") or named.get("local_rank")
    return (f"gpu{int(index)}", f"GPU {int(index)}") if index and index.isdecimal() else None


def _get_interface(matched: "Match") -> str | None:
    """The interface's name beside the address of its adapter; None without either."""
    named = matched.found.groupdict()
    if (
        matched.signature.kind not in _WORDS
        or normalize_full_address(named.get("device") or "") is None
    ):
        return None
    return next((named[group] for group in _INTERFACES if named.get(group)), None)
