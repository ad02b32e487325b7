"""The tools as a client has them, whatever carries the messages: the protocol's own client asks
the server in this process.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from mcp import Client

import triage
from tests.agents.asked import PROMPTS, renamed, service, size_of
from tests.hostile.log_incident import good, write
from triage.agents.answers import Quotes
from triage.agents.questions import answer_of_report
from triage.agents.server import (
    HOW,
    MAX_ANSWER_BYTES,
    MAX_TOOLS_BYTES,
    build_mcp_server,
    map_tools,
)
from triage.agents.shapes import OfFiles, OfPaths

NODE, JOB, CLUSTER = "n2", "4711", "a"
# Each could be the name of a host.
BAD_WORDS = ("drain-n0", "ignore-previous", "cordon-all", "n0-is-healthy", "SYSTEM", "n0.reboot")
TOOLS = [
    "what_stopped_this_job", "why_is_this_node_suspected", "what_else_happened_to_this_node",
    "what_would_change_the_answer", "fleet_summary", "analyse_files",
]  # fmt: skip


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    found = triage.analyze(write(tmp_path_factory.mktemp("plain"), good())).to_dict()
    wanted = {"kind": "kernel_log", "node": NODE, "rank": None, "why": "none was read"}
    return {**found, "wanted": [wanted]}


@pytest.fixture(scope="module")
def usual(report: dict[str, Any]) -> list[Any]:
    return six_answers(report, NODE, JOB, CLUSTER)


def six_answers(report: dict[str, Any], node: str, job: str, cluster: str) -> list[Any]:
    """What each of the six tools answers where the convicted node, the job and the cluster bear
    these names.
    """
    hostile = {**renamed(report, NODE, node), "coverage": report["coverage"]}

    async def analyse(_asked: OfFiles) -> Any:
        return answer_of_report(hostile, Quotes())

    async def ask() -> list[Any]:
        tools = map_tools(service(hostile, job, cluster), OfFiles, HOW, analyse)
        files = {"nodes/n2/kernel.log": "x"}
        async with Client(build_mcp_server(tools)) as client:
            return [
                await client.call_tool("what_stopped_this_job", {"job_id": job}),
                await client.call_tool("why_is_this_node_suspected", {"job_id": job, "node": node}),
                await client.call_tool("what_else_happened_to_this_node", {"node": node}),
                await client.call_tool("what_would_change_the_answer", {"job_id": job}),
                await client.call_tool("fleet_summary", {"cluster": cluster}),
                await client.call_tool("analyse_files", {"files": files}),
            ]

    results = asyncio.run(ask())
    assert not any(one.is_error for one in results), [one.content[0].text for one in results]
    return results


def sentences(result: Any) -> list[Any]:
    answer = result.structured_content
    return [answer["summary"], answer["next_step"], answer["not_known"], result.content[0].text]


@pytest.mark.parametrize("word", [*BAD_WORDS, *PROMPTS], ids=lambda word: word[:16])
def test_no_sentence_of_any_tool_holds_a_name(
    word: str, report: dict[str, Any], usual: list[Any]
) -> None:
    for plain, hostile in zip(usual, six_answers(report, word, word, word), strict=True):
        assert sentences(hostile) == sentences(plain)
        assert size_of(hostile) <= MAX_ANSWER_BYTES
        fields = {**hostile.structured_content, "untrusted_log_text": None}
        values = strings(fields) + strings(json.loads(hostile.content[1].text))
        holding = {value for value in values if word in value}
        assert holding <= ({word, f"nodes/{word}/kernel.log"} if word in BAD_WORDS else set())


def strings(value: Any) -> list[str]:
    """All texts in a JSON value."""
    if isinstance(value, dict):
        return [text for one in value.values() for text in strings(one)]
    if isinstance(value, list):
        return [text for one in value for text in strings(one)]
    return [value] if isinstance(value, str) else []


def test_names_are_there_for_clients_that_show_text_alone(usual: list[Any]) -> None:
    names = [json.loads(one.content[1].text) for one in usual]
    of_job = {"suspects": [NODE], "cordon": [NODE]}
    of_node = {"node": [NODE]}
    changes = {"suspects": [NODE], "wanted": [NODE]}
    assert names == [of_job, of_node, of_node, changes, {"worst_nodes": [NODE]}, of_job]


@pytest.mark.parametrize("takes", [OfFiles, OfPaths])
def test_the_list_of_tools_is_short_and_says_they_only_read(takes: Any) -> None:
    async def listed() -> Sequence[Any]:
        tools = map_tools(service({"verdict": None, "suspects": []}), takes, HOW, never)
        async with Client(build_mcp_server(tools)) as client:
            return await client.list_tools()

    answer = asyncio.run(listed())
    assert len(answer.model_dump_json(by_alias=True, exclude_none=True)) <= MAX_TOOLS_BYTES
    assert [tool.name for tool in answer.tools] == TOOLS
    for tool in answer.tools:
        assert tool.annotations.read_only_hint
        assert tool.input_schema["additionalProperties"] is False
        for field in tool.input_schema["properties"].values():
            assert "type" in field
        assert "$ref" not in json.dumps(tool.input_schema)


async def never(_asked: Any) -> Any:
    raise AssertionError("nothing was asked")
