"""The calls with curl that the pages show are made as they stand, to a running service."""

import json
import re
import shutil
import subprocess

import pytest

from tests.docs.pages import FENCE, page
from tests.services.whole_jobs import GPU_LOST
from tests.workers.running import environment

# An answer of 400 or more is a failure, and nobody waits as long as on a bad night.
STRICT = 'set -euo pipefail\ncurl() { command curl --fail-with-body --noproxy "*" "$@"; }\n'
BLOCKS = [
    (name, block)
    for name in ("api.md", "collecting.md", "notifications.md")
    for block in FENCE.findall(page(name))
    if "curl " in block and "/v1/subscriptions" not in block  # those need a public address
]


@pytest.fixture
def node(tmp_path):
    """A folder of a node with what the pages send, and files of tokens."""
    shutil.copytree(GPU_LOST, tmp_path / "job")
    shutil.copy(GPU_LOST / "nodes" / "gpu-0102" / "kernel.log", tmp_path / "job" / "kernel.log")
    for name in ("fr", "nodes"):
        shutil.copytree(GPU_LOST / name, tmp_path / name)
    shutil.copy(GPU_LOST / "fr" / "comm_lib_trace_rank_3", tmp_path / "trace_rank_3")
    (tmp_path / "header").write_text("X-Nothing: 1\n")
    for name in ("ingest", "read"):
        (tmp_path / f"{name}.token").write_text("none\n")
    return tmp_path


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on PATH")
@pytest.mark.parametrize(("name", "block"), BLOCKS, ids=lambda value: value[:24])
def test_the_calls_are_answered(name, block, node, address, client):
    job = next(body for body in re.findall(r"-d '(\{.*?\})'", page("api.md")) if "job_id" in body)
    incident = client.job_failed(json.loads(job))
    script = (
        block.replace("http://127.0.0.1:8000", address)
        .replace("/var/log/job", str(node / "job"))
        .replace("inc_...", incident.id)
        .replace("wait_s=60", "wait_s=1")
    )
    settings = {"U": address, "URL": address, "T": address, "ID": incident.id}
    tokens = {"R": "X-Nothing: 1", "READ": "none"}

    done = subprocess.run(
        ["bash", "-c", STRICT + script], cwd=node, env={**environment(), **settings, **tokens},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip

    assert done.returncode == 0, (name, done.stdout, done.stderr)
    assert done.stdout


def test_there_are_calls_of_every_page():
    assert {name for name, _ in BLOCKS} == {"api.md", "collecting.md", "notifications.md"}
