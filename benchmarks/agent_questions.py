"""What an agent pays for the list of tools, in bytes, and for each answer, in bytes and
milliseconds, over both ways in.

    python -m benchmarks.agent_questions [FOLDER]

A service of its own gets the incident (``examples/stuck-job`` where no folder is named), and the
protocol's client asks it over HTTP and over stdio. Status 1 where an answer is an error, or
something is longer than its limit.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult

import triage
from triage.agents.server import MAX_ANSWER_BYTES, MAX_TOOLS_BYTES

ROOT: Final = Path(__file__).resolve().parents[1]
EXAMPLE: Final = ROOT / "examples" / "stuck-job"
ENVIRONMENT: Final = {**os.environ, "PYTHONPATH": str(ROOT), "TRIAGE_QUIET_S": "2"}
TRIAGE: Final = [sys.executable, "-m", "triage.cli.main"]
Calls = tuple[tuple[str, str, Mapping[str, object]], ...]


def questions(job: str, node: str, folder: Path, *, sent: bool) -> Calls:
    """(question, tool, arguments); files are ``sent`` as texts, else named by their path."""
    text = "[ 1000.123456] NVRM: Xid (PCI:0000:5d:00): 79, pid=1, GPU has fallen off the bus.\n"
    files: Mapping[str, object] = {"files": {"nodes/n3/kernel.log": text}}
    return (
        ("What stopped this job?", "what_stopped_this_job", {"job_id": job}),
        (
            "Why is this node suspected?",
            "why_is_this_node_suspected",
            {"job_id": job, "node": node},
        ),
        ("What else happened to it?", "what_else_happened_to_this_node", {"node": node}),
        ("What would change the answer?", "what_would_change_the_answer", {"job_id": job}),
        ("How does the fleet do?", "fleet_summary", {"days": 30}),
        (
            "What do these files say?",
            "analyse_files",
            files if sent else {"paths": [str(folder)]},
        ),
    )


def size_of(result: CallToolResult) -> int:
    """Bytes of text and structured content."""
    texts = sum(len(one.text.encode()) for one in result.content if one.type == "text")
    return texts + len(json.dumps(result.structured_content, ensure_ascii=False).encode())


async def ask(way: str, server: str | StdioServerParameters, calls: Calls) -> bool:
    """Print a row for each call; whether all were answered within the limit."""
    async with Client(server) as client:
        listed = await client.list_tools()
        size = len(listed.model_dump_json(by_alias=True, exclude_none=True))
        fine = size <= MAX_TOOLS_BYTES
        print(f"{way:<6} {'(the list of tools)':<63} {size:>6} B")
        for question, tool, arguments in calls:
            began = time.perf_counter()
            result = await client.call_tool(tool, dict(arguments))
            took_ms = (time.perf_counter() - began) * 1000
            size = size_of(result)
            fine &= not result.is_error and size <= MAX_ANSWER_BYTES
            state = "error" if result.is_error else ""
            print(f"{way:<6} {question:<30} {tool:<32} {size:>6} B {took_ms:>8.0f} ms {state}")
    return fine


def main() -> int:
    """Serve, send, ask; the exit status."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLE
    report = triage.analyze(folder)
    node = next((one.node for one in report.answer.suspects if one.node), "n0")
    job = report.answer.job.job_id or "4711"
    with tempfile.TemporaryDirectory() as data:
        command = [*TRIAGE, "serve", "--open", "--port", "0", "--data-dir", data]
        with subprocess.Popen(
            command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        ) as service:  # fmt: skip
            try:
                url = service.stdout.readline().strip() if service.stdout else ""
                with triage.Client(url) as client:
                    incident = client.upload(folder, job, node=node)
                    client.wait(incident.id)
                stdio = StdioServerParameters(
                    command=sys.executable, args=[*TRIAGE[1:], "mcp", "--url", url],
                    env=ENVIRONMENT, cwd=str(ROOT),
                )  # fmt: skip
                over_http = questions(job, node, folder, sent=True)
                over_stdio = questions(job, node, folder, sent=False)
                fine = asyncio.run(ask("http", f"{url}/mcp", over_http))
                fine &= asyncio.run(ask("stdio", stdio, over_stdio))
            finally:
                service.terminate()
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
