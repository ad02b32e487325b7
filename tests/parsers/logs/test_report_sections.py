"""Reports of GPU tools and events of agents: which GPU a line is about."""

from pathlib import Path

import pytest

from triage.domain.category import Category
from triage.domain.evidence import Evidence, EvidenceRole, Trait
from triage.formats.streams import read_logs
from triage.parsers.files.inputs import find_inputs

STAMP = "Nov 22 03:04:05 gpu-17 epilog[812]: "
SMI = f"""{STAMP}    Driver Version                    : 550.90.07
{STAMP}GPU 00000000:1B:00.0
{STAMP}    Product Name                      : NVIDIA H100 80GB HBM3
{STAMP}    GPU Recovery Action               : None
{STAMP}GPU 00000000:9D:00.0
{STAMP}    Product Name                      : NVIDIA H100 80GB HBM3
{STAMP}    GPU Recovery Action               : Drain and Reset
"""

DCGM = """Health Monitor Report
+---------------------------+----------------------------------------------------------+
| Overall Health            | Failure                                                  |
+===========================+==========================================================+
| GPU                       |                                                          |
| -> 2                      | Failure                                                  |
|    -> Errors              |                                                          |
|       -> Memory           | Failure                                                  |
|                           | A DBE was detected in GPU 2. Reset the GPU.              |
"""


def rows(folder: Path, text: str, name: str = "nodes/gpu-17/epilog.out") -> list[Evidence]:
    path = folder / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    told = read_logs(find_inputs([folder]).files).evidence
    return [row for row in told if Trait.HEADING not in row.traits]


def test_a_line_of_a_report_is_of_the_gpu_whose_heading_stands_above_it(tmp_path: Path) -> None:
    [row] = rows(tmp_path, SMI)

    assert (row.signature, row.gpu, row.category) == (
        "gpu_tool.recovery_action", "0000:9d:00", Category.GPU,
    )  # fmt: skip
    assert row.role is EvidenceRole.ROOT


def test_a_heading_four_hundred_lines_above_is_of_another_gpu(tmp_path: Path) -> None:
    last = f"{STAMP}    GPU Recovery Action               : Drain"
    far = SMI.replace(last, f"{STAMP}    x : y\n" * 400 + last)
    [row] = rows(tmp_path, far)

    assert row.gpu is None


def test_the_health_watch_names_the_part_below_the_gpu(tmp_path: Path) -> None:
    [row] = [row for row in rows(tmp_path, DCGM) if row.signature == "gpu_tool.health_part"]

    assert row.category is Category.GPU_HBM
    assert row.fields["gpu_index"] == "2"


@pytest.mark.parametrize(
    ("beside", "gpu"),
    [
        ('"entities": [{"pci": "0018:01:00.0"}]', "0018:01:00"),
        ('"entities": ["0018:01:00.0", "0019:01:00.0"]', None),
        ('"entities": []', None),
    ],
)
def test_an_event_names_its_gpu_beside_the_words(
    tmp_path: Path, beside: str, gpu: str | None
) -> None:
    event = (
        '{"generatedTimestamp": "2026-11-22T03:04:05Z", "nodeName": "gpu-17",'
        ' "message": "GPU has fallen off the bus, Xid 79", "isHealthy": false, '
    )
    found = rows(tmp_path, event + beside + "}\n", "agents/events.jsonl")

    assert {row.node for row in found} == {"gpu-17"}
    assert {row.gpu for row in found} == {gpu}


def test_what_an_agent_says_is_well_again_is_no_fault(tmp_path: Path) -> None:
    event = (
        '{"generatedTimestamp": "2026-11-22T03:04:05Z", "nodeName": "gpu-17",'
        ' "message": "GPU has fallen off the bus, Xid 79", "isHealthy": true}\n'
    )

    assert rows(tmp_path, event, "agents/events.jsonl") == []
