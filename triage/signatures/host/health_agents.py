"""Health agents of nodes and GPUs in their own words: NHC, DCGM, gpud, NVSentinel, epilogs.

Such an agent reads what others report and words it anew. Its line names a part and mostly
the GPU or the node; it is said after the fact and by hearsay, so it needs another source.
"""

import re
from collections.abc import Sequence
from typing import Final

from triage.domain.category import Category
from triage.domain.evidence import Trait
from triage.domain.patterns import compile_re
from triage.signatures.gpu.catalogue import get_xid
from triage.signatures.host.agent_words import find_gpu_fields, find_part
from triage.signatures.load import load
from triage.signatures.scheduler.node_names import HOST, named
from triage.signatures.severity import CONSEQUENCE, WARN, get_group_text
from triage.signatures.signature import Reading

# "host=gpu-17", "node: gpu-17", "on node gpu-17", "nodeName=gpu-17"
NODE: Final = compile_re(
    rf"\b(?:host(?:name)?|node(?:_?name)?)[=:] ?[\"']?(?P<node>{HOST})"
    rf"|\bon (?:node|host) (?P<on>{HOST})",
    re.IGNORECASE,
)
_HEALTHY: Final = compile_re(
    r"is ?healthy[\"']?[ :=]{1,3}true|\bhealthy[\"']?[ :=]{1,3}true|no (?:health )?(?:failures|"
    r"issues|errors?)\b|\b0 (?:failures|errors)\b|\ball (?:checks )?pass|recovered|cleared",
    re.IGNORECASE,
)


def _find_agent_node(text: str) -> dict[str, str]:
    """The node that an agent's line names."""
    match = NODE.search(text)
    if match is None:
        return {}
    name = (match["node"] or match["on"]).rstrip(".,:;")
    return {"node": name, "said_of": name} if re.search(r"\d|-", name) else {}


def by_words(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """The part, the GPU and the node in the words from the match on; None where it is well."""
    text = match.string[match.start() : match.start() + 600]
    if _HEALTHY.search(text):
        return None
    part = find_part(text)
    fields = {
        **_find_agent_node(match.string[:2000]),
        **part.fields,
        **named(match, "node", "marked"),
    }
    if part.category is None:
        return Reading(fields=fields)
    return Reading(category=part.category, also=part.also, gpu=part.gpu, fields=fields)


_DCGM_PARTS: Final = (
    (("DBE", "ROW_REMAP", "RETIRED", "PENDING_PAGE", "UNCORRECT", "ECC"), Category.GPU_HBM),
    (("SRAM",), Category.GPU_SRAM),
    (("NVLINK", "NVSWITCH", "IMEX", "FABRIC"), Category.NVLINK),
    (("THERMAL", "TEMP"), Category.GPU_THERMAL),
    (("CLOCK_THROTTLE_POWER", "POWER"), Category.POWER),
    (("PCI", "FALLEN_OFF", "BAR1"), Category.IO_BOARD),
)


def dcgm_code(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """DCGM's name of an error."""
    code = (match["code"] or "").upper()
    gpu, fields = find_gpu_fields(match.string[:1000])
    category = next((c for words, c in _DCGM_PARTS if any(w in code for w in words)), Category.GPU)
    if "FALLEN_OFF" in code or "LOST" in code:
        category = Category.GPU
    if "CLOCK_THROTTLE_POWER" in code:
        return Reading(category=category, gpu=gpu, fields={**fields, "severity": WARN})
    return Reading(
        category=category, gpu=gpu, fields={**fields, **_find_agent_node(match.string[:2000])}
    )


def printed_code(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """An Xid in an agent's sentence: the number says the part as in the driver's own line."""
    text = match["xid"] or match["code_said"]
    entry = None if text is None else get_xid(int(text))
    if entry is None or _HEALTHY.search(match.string[:600]):
        return None
    gpu, fields = find_gpu_fields(match.string[:2000])
    return Reading(
        category=entry.category,
        also=entry.also,
        role=entry.role,
        gpu=gpu,
        fields={**fields, **_find_agent_node(match.string[:2000]), "xid": text or ""},
    )


def scripted(match: re.Match[str], after: Sequence[str]) -> Reading | None:
    """What a site's script found; without a part that it names it says nothing."""
    reading = by_words(match, after)
    if reading is None or reading.category is None:
        return None
    if get_group_text(match, "when") != "epilog":
        return reading
    # An epilog looks when the job has ended; what it finds may be what ended it.
    return Reading(
        role=CONSEQUENCE,
        category=reading.category,
        also=reading.also,
        gpu=reading.gpu,
        fields=reading.fields,
        traits=frozenset({Trait.ROOT_WHEN_ALONE}),
    )


SIGNATURES = load(
    __name__,
    remediation=lambda match, _after: Reading(fields=named(match, "node")),
)
