"""The demo: the service on a loopback port, a bundled incident through its front door.

What a cluster would do is done here: the job-failed hook is called, each of the two nodes
runs the collector, and the suspects are asked for. Standard library only.
"""

import ctypes
import json
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools.environment import ROOT, NextStep, environ, say, tool

INCIDENT = ROOT / "examples" / "stuck-job"
_HOME = ROOT / "var" / "demo"
_FIRST_PORT = 8000
_ANSWER_WITHIN_S = 60
# A machine that is busy takes minutes for the first start of a reader.
_ASKED = 5
_END_WITHIN_S = 35
_GPUS_PER_NODE = 4


def show(*, once: bool) -> int:
    """Start the service, send it the incident, print the answer; serve until Ctrl-C.

    Raises:
        NextStep: the service did not start, or did not answer.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _HOME.mkdir(parents=True, exist_ok=True)
    say(f"analysing {INCIDENT.relative_to(ROOT)}: 8 ranks on 2 nodes, one of them stopped")
    # To its end before the service starts: the first run compiles the loops, and all readers of
    # the service would do the same beside it.
    _finish("the analysis", [_start("triage", "analyze", str(INCIDENT.relative_to(ROOT)))])
    # Each time a new service, whatever an earlier demo, or an earlier release, left behind.
    with (
        tempfile.TemporaryDirectory(prefix="run-", dir=_HOME, ignore_cleanup_errors=True) as made,
        service(free_port(_FIRST_PORT), Path(made)) as address,
    ):
        job = json.loads((INCIDENT / "job.json").read_text("utf-8"))
        incident = _announce(address, job)
        senders = [
            _collector(address, job, incident, node, Path(made) / "spool" / node)
            for node in job["nodes"]
        ]
        _finish("a collector", senders)
        answer = _suspects(address, incident)
        _tell(address, incident, answer)
        if not once:
            _wait()
    if once:
        say("the service has ended; `python3 run.py demo` keeps it there to be looked at")
    return 0


@contextmanager
def service(port: int, folder: Path) -> Iterator[str]:
    """`triage serve --open` on this port and folder, ended with the block; its address."""
    process = _start(
        "triage", "serve", "--open", "--port", str(port), "--data-dir", str(folder),
        stdout=subprocess.PIPE, environment={"TRIAGE_LOG_LEVEL": "warning"},
    )  # fmt: skip
    try:
        say("starting the service: triage serve --open")
        address = process.stdout.readline().strip() if process.stdout is not None else ""
        if not address:
            raise NextStep(
                f"the service did not start (status {process.wait()}). Next: look at the lines "
                "above; `python3 run.py clean` starts over"
            )
        yield address
    finally:
        process.terminate()
        try:
            process.wait(_END_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _announce(address: str, job: dict[str, Any]) -> str:
    """Tell that the job failed, as its scheduler would; the incident's id."""
    names = [path.name for path in sorted((INCIDENT / "fr").iterdir())]
    told = {**job, "expected_artifacts": len(names)}
    answer = _call(f"{address}/v1/hooks/job-failed", told)
    return str(answer["incident"]["id"])


def _collector(
    address: str, job: dict[str, Any], incident: str, node: str, spool: Path
) -> "subprocess.Popen[str]":
    """What an epilogue starts on a node, with this node's share of the dumps."""
    first = job["nodes"].index(node) * _GPUS_PER_NODE
    ranks = f"[{first}-{first + _GPUS_PER_NODE - 1}]"
    return _start(
        "python", "-m", "triage.collectors", "--url", address, "--job-id", job["job_id"],
        "--node", node, "--incident", incident, "--no-kernel-log", "--shared", "send",
        "--fr", str(INCIDENT / "fr" / f"comm_lib_trace_rank_{ranks}"),
        "--logs", str(INCIDENT / "none"), "--spool", str(spool), "--strict",
    )  # fmt: skip


def _suspects(address: str, incident: str) -> dict[str, Any]:
    """The suspects, once the incident has settled."""
    for _ in range(_ASKED):
        answer = _call(f"{address}/v1/incidents/{incident}/suspects?wait_s={_ANSWER_WITHIN_S}")
        if answer["state"] in {"ready", "failed"}:
            break
    if answer["state"] != "ready":
        raise NextStep(
            f"incident {incident} is {answer['state']}, not ready, in the time it should take. "
            "Next: look at the lines above, and please report them"
        )
    return answer


def _tell(address: str, incident: str, answer: dict[str, Any]) -> None:
    """What the service says, and where to look."""
    named = ", ".join(
        f"{one['node']} ({one['category']}, {one['score']:.2f})" for one in answer["suspects"]
    )
    print(f"\nThe service says the same of incident {incident}: {named or 'nobody'}")
    print(f"  page       {address}/incidents/{incident}")
    print(f"  suspects   {address}/v1/incidents/{incident}/suspects")
    print(f"  report     {address}/v1/incidents/{incident}/report")
    print(f"  interface  {address}/docs", flush=True)


def _wait() -> None:
    """Keep serving until Ctrl-C."""
    say("serving; Ctrl-C ends it")
    try:
        signal.pause()
    except KeyboardInterrupt:
        say("ended")


def _call(url: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """One request; JSON there and back."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(request, timeout=_ANSWER_WITHIN_S + 10) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
    except urllib.error.HTTPError as error:
        raise NextStep(
            f"{url} answered {error.code}: {error.read(2000).decode('utf-8', 'replace')}. "
            "Next: please report it"
        ) from error


def _start(
    name: str,
    *arguments: str,
    stdout: int | None = None,
    environment: dict[str, str] | None = None,
) -> "subprocess.Popen[str]":
    """Run a command of the environment beside us; it ends when we do, however that comes."""
    return subprocess.Popen(
        [str(tool(name)), *arguments],
        cwd=ROOT,
        env={**without_settings(environ()), **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        text=True,
        preexec_fn=_end_with_us if sys.platform == "linux" else None,  # noqa: PLW1509 - no threads
    )


def without_settings(variables: dict[str, str]) -> dict[str, str]:
    """The demo is the embedded service, whatever the user has set up for another one."""
    return {name: value for name, value in variables.items() if not name.startswith("TRIAGE_")}


def _end_with_us() -> None:
    """Linux: SIGTERM (15) to this process when its parent ends, even by kill -9."""
    ctypes.CDLL(None).prctl(1, 15)


def _finish(what: str, processes: "list[subprocess.Popen[str]]") -> None:
    """Wait for commands that have to succeed."""
    for process in processes:
        if process.wait():
            raise NextStep(
                f"{what} ended with status {process.returncode}. Next: `python3 run.py clean` and "
                "try again; if it stays, please report the lines above"
            )


def free_port(first: int) -> int:
    """The first free loopback port from this one on, 0 (any) when twenty are taken."""
    for port in range(first, first + 20):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:  # taken: the next one
                continue
            return port
    return 0
