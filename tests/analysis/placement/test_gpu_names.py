"""One GPU by all its names, and never two GPUs by one."""

from dataclasses import replace

import pytest

from triage.analysis.placement.attribution import attribute
from triage.analysis.placement.gpu_names import GpuNames, collect_gpu_names
from triage.analysis.placement.identity import resolve
from triage.domain.evidence import Evidence, EvidenceRole, Kind
from triage.domain.job import Job
from triage.signatures import registry

UUID = "GPU-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b14"
OTHER = "GPU-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b15"

# line and what stands behind it, then its fields and address
SAID = [
    (f"GPU 3: NVIDIA H100 80GB HBM3 (UUID: {UUID})", {"gpu_index": "3", "gpu_uuid": UUID}, None),
    (f"3, {UUID}, 00000000:5D:00.0", {"gpu_index": "3", "gpu_uuid": UUID}, "0000:5d:00"),
    (f"device PCI:0000:5d:00: {UUID}", {"gpu_uuid": UUID}, "0000:5d:00"),
    (f'DCGM_FI_DEV_XID{{gpu="3",UUID="{UUID}",pci_bus_id="00000000:5D:00.0",device="nvidia2"}} 79',
     {"gpu_index": "3", "gpu_minor": "2", "gpu_uuid": UUID}, "0000:5d:00"),
    (f"    GPU UUID                     : {UUID}\n    Minor Number                 : 2\n"
     "    GPU Part Number              : 1\n    Module ID                    : 6\n"
     "        Bus Id                       : 00000000:5D:00.0\n"
     "GPU 00000000:9D:00.0\n    Serial Number                     : 1650000000000",
     {"gpu_minor": "2", "gpu_module": "6", "gpu_uuid": UUID}, "0000:5d:00"),
    (f"<uuid>{UUID}</uuid>\n<minor_number>2</minor_number>\n<serial>165000000000</serial>\n"
     "<pci_bus_id>00000000:5D:00.0</pci_bus_id>",
     {"gpu_minor": "2", "gpu_serial": "165000000000", "gpu_uuid": UUID}, "0000:5d:00"),
]  # fmt: skip
UNSAID = [
    f"handles: {UUID}, {OTHER} on 0000:5d:00.0",
    f"uuid={UUID}",
    f"from: {UUID} 0000:5d:00.0 to 0000:9d:00.0",
]


@pytest.mark.parametrize(("text", "fields", "gpu"), SAID)
def test_reads_what_is_said_together(text: str, fields: dict[str, str], gpu: str | None) -> None:
    first, *after = text.split("\n")
    found = registry.match(first, after)

    assert found is not None
    assert found.signature.id.startswith("gpu_names.")
    told = {k: v for k, v in found.reading.fields.items() if k.startswith("gpu_")}
    assert (told, found.reading.gpu) == (fields, gpu)


@pytest.mark.parametrize("line", UNSAID)
def test_guesses_no_equality(line: str) -> None:
    found = registry.match(line, [])

    assert found is None or not found.signature.id.startswith("gpu_names.")


def row(gpu: str | None = None, **fields: str) -> Evidence:
    return Evidence(
        artifact="x", line=1, signature="agent.x", kind=Kind.GPU, role=EvidenceRole.ROOT, text="",
        node="n1", gpu=gpu, fields=fields,
    )  # fmt: skip


def names(*rows: Evidence) -> GpuNames:
    return collect_gpu_names((one.node, one) for one in rows)


def test_joins_names_over_several_sources() -> None:
    known = names(
        row(gpu_index="3", gpu_uuid=UUID),
        row("0000:5d:00", gpu_uuid=UUID, gpu_minor="2"),
        row("0000:9d:00", gpu_uuid=OTHER, gpu_minor="3"),
    )

    assert known.bus_of("n1", ("gpu_index", "3")) == "0000:5d:00"
    assert known.bus_of("n1", ("gpu_minor", "3")) == "0000:9d:00"
    assert known.bus_of("n1", ("gpu_minor", "7")) is None
    assert known.bus_of("n2", ("gpu_index", "3")) is None
    assert known.home_of(("gpu_uuid", OTHER)) == "n1"


def test_a_name_of_two_addresses_is_nobodys() -> None:
    known = names(row("0000:5d:00", gpu_index="3"), row("0000:9d:00", gpu_index="3"))

    assert known.bus_of("n1", ("gpu_index", "3")) is None


def test_a_row_gets_the_address_of_the_gpu_that_it_names() -> None:
    job = Job(
        nodes=("n1",), gpus_per_node=2, world_size=2,
        gpu_bus_ids={"n1": ("0000:5d:00", "0000:9d:00")},
    )  # fmt: skip
    rows = [
        row("0000:9d:00", gpu_uuid=OTHER, gpu_index="0"),
        row(gpu_uuid=OTHER),
        row(gpu_index="0"),
        row(gpu_index="1"),
        replace(row(gpu_uuid=OTHER), node=None),
    ]

    found = attribute(rows, resolve(rows, job, {}))

    assert [(one.node, one.gpu, one.rank) for one in found] == [
        ("n1", "0000:9d:00", 1),
        ("n1", "0000:9d:00", 1),
        ("n1", "0000:9d:00", 1),
        ("n1", None, 1),
        ("n1", "0000:9d:00", 1),
    ]


def test_takes_names_out_of_the_words_of_any_row() -> None:
    banner = replace(row("0000:5d:00"), text=f"NVRM: GPU at PCI:0000:5d:00: {UUID}")

    assert names(banner).bus_of("n1", ("gpu_uuid", UUID)) == "0000:5d:00"
