"""`triage mcp` as a process of its own, asked by the protocol's own client."""

import asyncio
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from tests.agents.asked import PROMPTS, size_of
from tests.api.service import Service, context_at, serving
from tests.hostile.log_incident import good, write
from triage.agents.server import MAX_ANSWER_BYTES

ROOT = Path(__file__).resolve().parents[2]


def ping(number: int) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"})


def parameters(*arguments: str, **environment: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "triage.cli.main", "mcp", *arguments],
        env={"PYTHONPATH": str(ROOT), **environment},
        cwd=str(ROOT),
    )


def asked(server: StdioServerParameters, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """The names of the tools, then the result of each call."""

    async def ask() -> list[Any]:
        async with Client(server) as client:
            tools = await client.list_tools()
            return [
                [tool.name for tool in tools.tools],
                *[await client.call_tool(*call) for call in calls],
            ]

    return asyncio.run(ask())


def test_files_are_analysed_without_a_service(tmp_path: Path) -> None:
    folder = write(tmp_path / PROMPTS[0], good())
    tools, plain, gone, nothing, more = asked(
        parameters(),
        ("analyse_files", {"paths": [str(folder)]}),
        ("analyse_files", {"paths": [str(folder), "/not/there"]}),
        ("analyse_files", {"paths": ["--help"]}),
        ("analyse_files", {"paths": [str(folder)], "command": "rm"}),
    )
    assert tools == ["analyse_files"]
    assert not plain.is_error, plain.content[0].text
    assert size_of(plain) < 4 << 10 < MAX_ANSWER_BYTES
    assert plain.structured_content["verdict"]["cordon"] == ["n2"]
    assert plain.structured_content["evidence"][0]["artifact"] == "nodes/n2/kernel.log"
    assert "A path is not there" in gone.content[0].text
    assert "A path is not there" in nothing.content[0].text
    assert "give only paths" in more.content[0].text
    assert all(one.is_error for one in (gone, nothing, more))


def test_a_service_is_asked_with_the_token_of_a_file(tmp_path: Path) -> None:
    ctx = context_at(tmp_path / "data")
    with serving(ctx) as service:
        service.opened("4711", cluster="a")
        token = tmp_path / "token"
        token.write_text(service.tokens["read"])
        token.chmod(0o600)
        url = f"http://127.0.0.1:{service.port}"
        tools, waiting, unknown, fleet = asked(
            parameters("--url", url, "--token-file", str(token)),
            ("what_stopped_this_job", {"job_id": "4711"}),
            ("what_stopped_this_job", {"job_id": "nope"}),
            ("fleet_summary", {}),
        )
        wrong = refused_with(service, url, tmp_path, "triage_wrong_000000000000")
        narrow = refused_with(service, url, tmp_path, service.tokens["ingest"])
    away = asked(parameters("--url", url, "--token-file", str(token)), ("fleet_summary", {}))[1]
    ctx.close()
    assert len(tools) == 6
    assert waiting.structured_content["verdict"] is None
    assert "Ask again" in waiting.structured_content["next_step"]
    assert unknown.is_error
    assert not fleet.is_error
    assert "token is missing or no longer valid" in wrong
    assert "may not read" in narrow
    assert "does not answer now: ask again in" in away.content[0].text


def refused_with(service: Service, url: str, folder: Path, token: str) -> str:
    file = folder / "other"
    file.write_text(token)
    file.chmod(0o600)
    (_, result) = asked(parameters("--url", url, "--token-file", str(file)), ("fleet_summary", {}))
    assert result.is_error
    assert token not in result.content[0].text
    return result.content[0].text


def test_without_its_package_it_names_the_extra(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['mcp'] = None; from triage.cli.main import main; "
    hidden += "sys.exit(main(['mcp']))"
    done = subprocess.run(
        [sys.executable, "-c", hidden], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert 'pip install "nccl-triage[mcp]"' in done.stderr
    assert done.stdout == ""


def test_it_needs_nothing_of_the_service() -> None:
    """What `pip install "nccl-triage[mcp]"` does not bring."""
    absent = ("structlog", "fastapi", "sqlalchemy", "pydantic_settings", "celery")
    hidden = f"import sys; sys.modules.update(dict.fromkeys({absent})); "
    hidden += "from triage.cli.main import main; sys.exit(main(['mcp']))"
    assert ids_answered([sys.executable, "-c", hidden], ping(7), until=7) == [7]


def test_nonsense_on_stdin_does_not_end_it() -> None:
    server = [sys.executable, "-m", "triage.cli.main", "mcp"]
    nonsense = ["", "{", "null", '{"jsonrpc":"2.0","id":100,"method":"none"}']
    pings = range(10, 10 + len(nonsense))
    lines = [line for pair in zip(nonsense, map(ping, pings), strict=True) for line in pair]
    # The first that is missing tells after which of them it ended.
    assert {*pings} <= {*ids_answered(server, *lines, until=pings[-1])}


def ids_answered(server: list[str], *lines: str, until: int) -> list[int | None]:
    """Whom it answered, up to one message; stdin is open till then, and closing it ends it."""
    with subprocess.Popen(
        server, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ended = threading.Timer(120, process.kill)
        ended.start()
        process.stdin.writelines(f"{line}\n" for line in lines)
        process.stdin.flush()
        ids = []
        for answer in process.stdout:
            ids.append(json.loads(answer).get("id"))
            if ids[-1] == until:
                process.stdin.close()
        assert process.wait() == 0
        ended.cancel()
    return ids
