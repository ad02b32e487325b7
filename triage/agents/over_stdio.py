"""Over stdio: the server of one person's agent, until its client goes away."""

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import anyio
import orjson
from mcp.server.stdio import stdio_server

from triage.agents.answers import Answer, Quotes
from triage.agents.questions import Ask, ToolRefused, answer_of_report
from triage.agents.server import build_mcp_server, map_tools
from triage.agents.shapes import OfPaths


def serve_stdio(ask: Ask | None) -> None:
    """Answer on stdin and stdout; without ``ask``, about files of this machine alone."""
    how = "Reads paths on this machine, and sends nothing."
    tools = map_tools(ask, OfPaths, how, _analyse_paths)

    async def serve() -> None:
        server = build_mcp_server(tools)
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(serve)


_DEADLINE_S: Final = 300.0
# A client may ask about many files at once; each reader takes a core.
_READERS: Final = asyncio.Semaphore(2)


async def _analyse_paths(asked: OfPaths) -> Answer:
    """The answer on files of this machine. Raises :class:`ToolRefused`."""
    await anyio.to_thread.run_sync(_check, asked.paths)
    report = await _run_and_parse_output("analyze", asked.paths)
    hangs_on = (
        (await _run_and_parse_output("explain", asked.paths))["hangs_on"] if asked.explain else ()
    )
    return answer_of_report(report, Quotes(), hangs_on=hangs_on)


def _check(paths: Sequence[str]) -> None:
    for number, path in enumerate(paths, start=1):
        try:
            there = "\0" not in path and Path(path).exists()
        except OSError:
            there = False
        if not there:
            raise ToolRefused(
                f"Path {number} of {len(paths)} is not there, or cannot be looked at: give folders,"
                " files or tar archives by their absolute paths."
            )


async def _run_and_parse_output(command: str, paths: Sequence[str]) -> Any:  # noqa: ANN401 - its JSON
    """What the command prints about the files."""
    line = [sys.executable, "-m", "triage.cli.main", command, "--format", "json", "--", *paths]
    try:
        async with _READERS:
            with anyio.fail_after(_DEADLINE_S):
                done = await anyio.run_process(
                    line, check=False, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
    except TimeoutError:
        raise ToolRefused(
            f"The files were not read within {_DEADLINE_S:.0f} s: give fewer of them, or run"
            " `triage analyze` on them."
        ) from None
    if done.returncode == 2:
        raise ToolRefused(
            "Nothing in these paths can be read as a dump or a log of a job: give the folder of"
            " one incident."
        )
    if done.returncode != 0:
        raise ToolRefused("Reading the files failed: run `triage analyze` on them, which says why.")
    return orjson.loads(done.stdout)
