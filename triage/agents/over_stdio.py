"""Over stdio: the server of one person's agent, until its client goes away."""

import anyio
from mcp.server.stdio import stdio_server

from triage.agents.asking import Asker
from triage.agents.local_files import analyse_paths
from triage.agents.server import Analyse, server_of, tools_of
from triage.agents.shapes import OfPaths
from triage.agents.turns import Turns

__all__ = ["serve_stdio"]


def serve_stdio(ask: Asker | None) -> None:
    """Answer on stdin and stdout; without ``ask``, about files of this machine alone."""
    analyse = Analyse(OfPaths, "Reads paths on this machine, and sends nothing.", analyse_paths)
    tools = tools_of(ask, analyse)

    async def serve() -> None:
        server = server_of(tools, Turns(), "stdio")
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(serve)
