"""Processes of the service for tests: started as a user would, and never left behind."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DUMPS = ROOT / "examples" / "stuck-job" / "fr"
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def environment(**settings: object) -> dict[str, str]:
    """The variables of a process: no settings but these."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TRIAGE_")}
    return {**kept, "PYTHONPATH": str(ROOT), **{k: str(v) for k, v in settings.items()}}


def triage(*arguments: str, **settings: object) -> subprocess.CompletedProcess[str]:
    """One command, run to its end."""
    return subprocess.run(
        [sys.executable, "-m", "triage.cli.main", *arguments], env=environment(**settings),
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=180,
    )  # fmt: skip


@contextmanager
def started(*arguments: str, log: Path, env: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A command that goes on; it and all that it started is gone afterwards."""
    with log.open("a") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "triage.cli.main", *arguments], env=dict(env), cwd=ROOT,
            stdout=subprocess.PIPE, stderr=stderr, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            yield process
        finally:
            family = [*children(process.pid), process.pid]
            for pid in family:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            process.wait(60)
            if process.stdout is not None:
                process.stdout.close()


@contextmanager
def serving(
    folder: Path, *arguments: str, **settings: object
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`triage serve --open` on any port, once it answers: the process and its address."""
    log = folder / "serve.err"
    env = environment(TRIAGE_DATA_DIR=folder / "data", TRIAGE_LOG_FORMAT="json", **settings)
    command = ["serve", "--open", "--port", "0", *arguments]
    with started(*command, log=log, env=env) as process:
        address = process.stdout.readline().strip() if process.stdout else ""
        assert address.startswith("http://"), log.read_text()
        yield process, address


def children(pid: int) -> list[int]:
    """All that this process started, and what that started; the youngest first."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return [one for child in found for one in (*children(child), child)]


def alive(pid: int) -> bool:
    """Whether the process runs; one that is only waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def call(
    url: str, body: object = None, *, token: str = "", method: str | None = None
) -> tuple[int, Any]:
    """One request: status and body, JSON where it is."""
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} | (
        {"Authorization": f"Bearer {token}"} if token else {}
    )
    request = urllib.request.Request(url, data, headers, method=method)
    try:
        with DIRECT.open(request, timeout=180) as answer:
            return answer.status, parsed(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, parsed(error.read())


def parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")


def announce(address: str, job_id: str, *, token: str = "", **facts: object) -> str:
    """Tell that a job failed; the incident's id."""
    body = {"job_id": job_id, "world_size": 8, "gpus_per_node": 4, "nodes": ["n0", "n1"], **facts}
    status, answer = call(f"{address}/v1/hooks/job-failed", body, token=token)
    assert status == 202, answer
    return str(answer["incident"]["id"])


def upload(
    address: str, job_id: str, rank: int, *, token: str = "", as_rank: int | None = None
) -> int:
    """Send one dump of the bundled incident, as that rank or as another one; the status."""
    node = "n0" if rank < 4 else "n1"
    said = rank if as_rank is None else as_rank
    data = (DUMPS / f"comm_lib_trace_rank_{rank}").read_bytes()
    query = f"node={node}&rank={said}&filename=comm_lib_trace_rank_{said}"
    url = f"{address}/v1/jobs/{job_id}/artifacts?{query}"
    return call(url, data, token=token)[0]


def suspects(address: str, incident: str, *, token: str = "", wait_s: int = 60) -> dict[str, Any]:
    """What it says of the suspects now, or when it has settled within this time."""
    url = f"{address}/v1/incidents/{incident}/suspects?wait_s={wait_s}"
    status, answer = call(url, token=token)
    assert status == 200, answer
    return dict(answer)


def first_suspect(address: str, incident: str, *, token: str = "") -> tuple[str, str | None]:
    """State and first node, once it has settled; a busy machine may take its time."""
    for _ in range(4):
        answer = suspects(address, incident, token=token)
        if answer["state"] in ("ready", "failed"):
            break
    nodes = [one["node"] for one in answer["suspects"]]
    return str(answer["state"]), nodes[0] if nodes else None
