"""Tables of pods, instances and assets: other names of machines."""

import pytest

from triage.formats.format import Head
from triage.formats.logs.documents import convert_document_to_lines
from triage.formats.logs.name_table import NAME_TABLE

PODS = "NAME NODE IP INSTANCE STATUS\nllm-0 gpu-17 10.8.3.21 i-014fab79a9 Error\n"
ASSETS = "asset,host,rack\nGX3436360,gpu-17,269\nGX3436361,gpu-18,269\n"


def lines_of(text: str) -> list[str]:
    assert NAME_TABLE.claims(Head(text.encode()))
    return [one for one in (convert_document_to_lines(text, NAME_TABLE) or "").split("\n") if one]


def test_each_other_name_is_put_on_its_machine() -> None:
    assert lines_of(PODS)[1:] == [
        "llm-0   1/1   Listed   0   10.8.3.21   gpu-17",
        "Successfully assigned names/i-014fab79a9 to gpu-17",
    ]
    assert lines_of(ASSETS)[1:] == [
        "Successfully assigned names/GX3436360 to gpu-17",
        "Successfully assigned names/GX3436361 to gpu-18",
    ]


def test_other_lines_stay_and_a_name_of_two_machines_is_none() -> None:
    text = f"kind: Workload\n\n{ASSETS}GX3436361,gpu-19,270\n"

    assert lines_of(text)[0] == "kind: Workload"
    assert not any("GX3436361" in line and "assigned" in line for line in lines_of(text))


@pytest.mark.parametrize(
    "text",
    [
        "NAME READY STATUS RESTARTS AGE IP NODE\nllm-0 1/1 Running 0 3h 10.8.3.21 gpu-17\n",
        "time,host,name\n2026-03-14T02:39:12Z,gpu-17,llm-0\n",
        "host,index,watts\ngpu-17,0,300\n",
        "NAME NODE IP\n",
    ],
)
def test_other_tables_are_none(text: str) -> None:
    assert not NAME_TABLE.claims(Head(text.encode()))
