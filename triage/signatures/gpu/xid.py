"""Xid: the error numbers that the NVIDIA GPU driver prints into the kernel log.

``NVRM: Xid (ADDRESS): CODE[, pid=P, name=N][, text][ caused by previous Xid M]``. The
code says most, the text behind it may say better (:mod:`triage.signatures.gpu.xid_text`).
The pid is a number of the host, not of a container.
"""

import re
from collections.abc import Sequence

from triage.domain.evidence import Blame, EvidenceRole, Kind, Trait
from triage.domain.patterns import compile_re
from triage.signatures.gpu import catalogue
from triage.signatures.gpu.xid_text import read_words
from triage.signatures.pci import normalize_bus_id
from triage.signatures.signature import Reading, Scope, Signature

# NVRM: Xid (PCI:0000:01:00 GPU-I:05 GPU-CI:00): 43, pid=4711, name=python3, Ch 00000008
# NVRM: Xid (0000:03:00): 13, 0001 00000000 000050c0
# The look-behind keeps the switches' SXid out.
_PATTERN = compile_re(
    r"(?<![A-Za-z])Xid ?\("
    r"(?P<gpu>(?:PCI:)?[0-9a-f]{1,8}:[0-9a-f]{1,2}(?::[0-9a-f]{2})?(?:\.[0-7])?)"
    r"(?: GPU-I:(?P<gpu_instance>\w{1,4}))?(?: GPU-CI:(?P<compute_instance>\w{1,4}))?\) ?: ?"
    r"(?P<code>\d{1,5})(?!\.?\d)(?:,? pid=(?:(?P<pid>\d{1,10})|'?<[^>]{1,12}>'?|'[^']{0,12}'))?",
    re.IGNORECASE,
)
# The name is cut to 15 characters and may hold nearly anything, even a comma.
_NAME = compile_re(r",? ?name=(.{0,40}?)(?:, |,?$)")
_LOST = 79
_PARENT = compile_re(r"caused by previous Xid (\d{1,5})")


def read(match: "re.Match[str]", after: Sequence[str]) -> Reading | None:
    """The code's meaning, bettered by the text."""
    code = int(match["code"])
    text = match.string[match.end() :]
    fields: dict[str, str] = {}
    name = _NAME.match(text)
    if name is not None:
        fields["name"] = name[1]
        text = text[name.end() :]
    said = read_words(code, text.lstrip(" ,:"), after)
    fields.update(said.fields)
    gpu = normalize_bus_id(match["gpu"])
    known = catalogue.get_xid(code)
    parent = _PARENT.search(text)
    if known is None:
        # A number of a newer driver: something happened to this GPU, nobody knows what.
        fields["severity"] = "error"
        unknown = Reading(code=code, gpu=gpu, weak=True, blame=Blame.SELF, fields=fields)
        return unknown if parent is None else make_consequence(unknown, int(parent[1]))
    fields.setdefault("severity", known.severity)
    reading = Reading(
        category=said.category or known.category,
        also=known.also if said.category is None else said.also,
        role=said.role or known.role,
        code=code,
        gpu=gpu,
        peer=said.peer,
        blame=said.blame,
        weak=known.severity == "warn" if said.weak is None else said.weak,
        traits=frozenset({Trait.QUOTABLE, Trait.GPU_LOST}) if code == _LOST else None,
        fields=fields,
    )
    return reading if parent is None else make_consequence(reading, int(parent[1]))


def make_consequence(reading: Reading, parent: int) -> Reading:
    """The consequence of the Xid that the driver itself names, in its category."""
    origin = catalogue.get_xid(parent)
    if origin is None or origin.category is None:
        category, also = reading.category, reading.also
    else:
        category, also = origin.category, origin.also
    return Reading(
        category=category,
        also=also,
        role=EvidenceRole.CONSEQUENCE,
        code=reading.code,
        parent_code=parent,
        gpu=reading.gpu,
        peer=reading.peer,
        blame=reading.blame,
        weak=False,
        fields=reading.fields,
    )


SIGNATURES: tuple[Signature, ...] = (
    Signature(
        id="nvidia.xid",
        kind=Kind.XID,
        role=EvidenceRole.ROOT,
        literals=("nvrm: xid", "xid (pci", "xid(pci", "xid (0"),
        pattern=_PATTERN,
        source="NVIDIA open kernel modules, the print of an Xid; public tickets for wrapped forms",
        scope=Scope.KERNEL,
        traits=frozenset({Trait.QUOTABLE}),
        context=3,
        floods=True,
        read=read,
        matches=(
            "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, "
            "GPU has fallen off the bus.",
            "NVRM: Xid (PCI:0000:9c:00 GPU-I:05 GPU-CI:00): 43, pid=88123, name=python3, "
            "Ch 00000008",
            "NVRM: Xid (PCI:0000:9c:00.0): 94, Contained: SM (0x1). RST: No, D-RST: No",
            "NVRM: Xid (0000:03:00): 13, 0001 00000000 000050c0 00000368 00000000 00000080",
            "NVRM: Xid (PCI:0008:01:00): 154 GPU recovery action changed from 0x0 (None) "
            "to 0x1 (GPU Reset Required)",
            "gpu-agent: Xid (PCI:0018:01:00): 31, pid=12, name=a::b[c], Ch 00000013",
        ),
        near_misses=(
            "nvidia-nvswitch1: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 33 LTSSM Fault Up",
            "rpc: xid (0x9b00): 13 retransmitted",
            "NVRM: Xid handling is enabled for (PCI:0000:3b:00)",
            "ERROR: could not open transaction xid (0) 4711",
        ),
    ),
)
