"""``triage mcp``: the answers for agents, over stdio."""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from triage.cli.ask import CaFile, TokenFile, Url, open_client
from triage.cli.extras import require_service_packages

_SILENT_S = 20.0


def mcp(url: Url = "", token_file: TokenFile = None, ca_file: CaFile = None) -> None:
    """Answer the questions of an agent, over stdio (MCP).

    A client of the Model Context Protocol starts it. With --url it asks that
    service; without, it answers from files of this machine alone. It only reads.

    \b
    Examples:
      triage mcp
      triage mcp --url https://triage.example --token-file ~/read.token
    """
    with require_service_packages(), ExitStack() as stack:
        from anyio import to_thread

        from triage.agents.over_stdio import serve_stdio

        ask = None
        if url or os.environ.get("TRIAGE_URL"):
            # An agent is told at once that it has to wait; it can do something else meanwhile.
            client = open_client(url, token_file, ca_file, timeout_s=_SILENT_S, tries=1)
            get = stack.enter_context(client).get

            async def ask(path: str, query: Mapping[str, object]) -> dict[str, Any]:
                # In a thread: nothing waits for it but the question itself.
                return await to_thread.run_sync(get, path, query, abandon_on_cancel=True)

        serve_stdio(ask)
