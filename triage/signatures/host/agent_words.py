"""The part that a health check, a drain reason or an agent names in its own words.

Such words come from scripts of each site: what counts is the part they name (``part_words.toml``),
the GPU, and whether they speak of a job that did not end (``Kill task failed``), which follows from
a stop. An agent (NHC, DCGM, gpud, NVSentinel, epilogs) reads what others report and words it anew:
its line is said after the fact and by hearsay, so it needs another source.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from triage.domain.category import Category
from triage.domain.evidence import Trait
from triage.domain.patterns import compile_re
from triage.domain.toml_tables import read_toml
from triage.signatures.gpu.catalogue import get_xid
from triage.signatures.pci import normalize_bus_id
from triage.signatures.scheduler.node_names import HOST, named
from triage.signatures.signature import Reading

_WORDS: Final = tuple(
    (
        compile_re("".join(row["pattern"]), re.IGNORECASE),
        Category(row["category"]),
        tuple(map(Category, row.get("also", ()))),
    )
    for row in read_toml("triage.signatures.host", "part_words")["part"]
)
# What a controller writes when a node or the job on it did not end as it should.
_AFTER_THE_JOB: Final = compile_re(
    r"kill task failed|not responding|batch job complete failure|duplicate jobid"
    r"|unexpectedly rebooted|node failure",
    re.IGNORECASE,
)
# Scripts that run behind a job, where they name no part.
_BEHIND_A_JOB: Final = compile_re(r"epilog|prolog error", re.IGNORECASE)
# "GPU 3", "gpu3", "GPU-3", "GPU: 3", "GPU index 3"; a uuid and an address are read apart.
_INDEX: Final = compile_re(
    r"\bGPU(?:_SXM_(?P<sxm>\d{1,2})|(?: index| id| ?#|_id)?[ :=_-]{0,2}(?P<index>\d{1,2}))"
    r"(?![\d.a-f-]|:[0-9a-f])",
    re.IGNORECASE,
)
_ADDRESS: Final = compile_re(
    r"(?:(?<=PCI:)|(?<![0-9a-f:]))(?P<bus>(?:[0-9a-f]{4,8}:)[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?)(?!:?[0-9a-f])",
    re.IGNORECASE,
)
UUID: Final = compile_re(
    r"\bGPU-(?P<uuid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Part:
    """What words name: ``category`` None where they name no part."""

    category: Category | None = None
    also: tuple[Category, ...] = ()
    gpu: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    after_the_job: bool = False

    def read(self, fields: Mapping[str, str]) -> Reading:
        """A line whose words name it; ``fields`` are what else the line says."""
        also = self.also if self.category is not None else None
        fields = {**fields, **self.fields}
        return Reading(category=self.category, also=also, gpu=self.gpu, fields=fields)


def find_gpu_fields(text: str) -> tuple[str | None, dict[str, str]]:
    """The GPU in some words: its bus id, else what else tells it (``gpu_uuid``, ``gpu_index``)."""
    address = _ADDRESS.search(text)
    if address is not None and (gpu := normalize_bus_id(address["bus"])) is not None:
        return gpu, {}
    uuid = UUID.search(text)
    if uuid is not None:
        return None, {"gpu_uuid": f"GPU-{uuid['uuid'].lower()}"}
    index = _INDEX.search(text)
    if index is not None and index["index"] is not None:
        return None, {"gpu_index": index["index"]}
    return None, {}


def find_part(text: str, *, of_a_job: bool = True) -> Part:
    """The part in the words of a reason; ``of_a_job`` where it may speak of a job's end instead."""
    text = text[:600]
    if not text.strip():
        return Part()
    if of_a_job and _AFTER_THE_JOB.search(text) is not None:
        return Part(after_the_job=True)
    gpu, fields = find_gpu_fields(text)
    for pattern, category, also in _WORDS:
        if pattern.search(text):
            return Part(category, also, gpu, fields)
    return Part(after_the_job=_BEHIND_A_JOB.search(text) is not None)


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


def read_by_words(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
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


def read_by_part(match: re.Match[str], after: Sequence[str]) -> Reading | None:
    """As :func:`read_by_words`; without a part that it names a line says nothing."""
    reading = read_by_words(match, after)
    return None if reading is None or reading.category is None else reading


def read_named_gpu(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The GPU by its address, else its number or uuid: one GPU whichever is printed."""
    gpu, fields = find_gpu_fields(match.string[:1000])
    return Reading(gpu=gpu, fields=fields)


def read_agent_place(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The GPU and the node of an agent's line."""
    gpu, fields = find_gpu_fields(match.string[:1000])
    return Reading(gpu=gpu, fields={**fields, **_find_agent_node(match.string[:2000])})


def read_printed_code(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
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


_CELL = compile_re(r"\|\s{20,40}\|\s?(?P<words>\S.{0,120}?)\s{0,80}\|\s*$")
_HEALTH_PARTS = {
    "memory": Category.GPU_HBM,
    "nvlink": Category.NVLINK,
    "nvswitch": Category.NVLINK,
    "pcie": Category.IO_BOARD,
    "pcie system": Category.IO_BOARD,
    "thermal": Category.GPU_THERMAL,
    "power": Category.POWER,
}


def read_unwell(match: re.Match[str], after: Sequence[str]) -> Reading | None:
    """The part of a GPU that DCGM's health watch complains of, in the words below its name."""
    cells = []
    for line in after:
        cell = _CELL.match(line)
        if cell is None:
            break
        cells.append(cell["words"])
    words = "".join(cells)
    part = find_part(words)
    category = _HEALTH_PARTS.get(match["part"].lower(), Category.GPU)
    lost = re.search(r"fallen off|\blost\b", words, re.IGNORECASE) is not None
    if lost or part.category not in (None, Category.GPU):
        category = part.category or category
    return Reading(
        category=category,
        also=tuple(one for one in (*part.also, Category.GPU) if one is not category),
        gpu=part.gpu,
        fields=part.fields,
        weak=match["state"] == "Warning",
        traits=frozenset({Trait.OF_A_REPORT, *((Trait.GPU_LOST,) if lost else ())}),
    )
