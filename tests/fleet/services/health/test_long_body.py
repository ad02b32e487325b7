"""A long body of check results is read by a process of its own: the same results, or a refusal."""

import io
import json
import os
import signal
import subprocess
from dataclasses import replace
from itertools import cycle

import pytest

from tests.formats.health import samples
from triage.errors import Corrupt, Unprocessable
from triage.fleet.services.health import long_body
from triage.fleet.services.health.long_body import read_body_checks
from triage.formats.registry import identify_checks
from triage.sandbox import one_shot
from triage.services.uploads.receive import read_plain_text

HOST = json.dumps({"node": "n0", "check": "disk", "status": "fail", "detail": "x \ud800 é",
                   "part": "sda", "category": "ssd", "at": "2026-11-21T03:04:15.5Z"})  # fmt: skip
TEXTS = {
    "nccl": "".join(samples.nccl(f"n{k}") for k in range(300)),
    "ibstat": samples.ibstat(mlx5_0=("Active", "LinkUp", 400), mlx5_1=("Down", "Init", 10)) * 999,
    "perfquery": samples.perfquery() * 3000,
    "dcgm": samples.dcgm3() + " " * 300_000,
    "host": "\n".join([HOST, "{}", HOST.replace("n0", "n1")] * 900),
}  # fmt: skip


def checks_of(data, artifact, **kw):
    row = identify_checks(data)
    return None if row is None else row.checks(data, artifact, **kw)


@pytest.fixture(autouse=True)
def patient(monkeypatch) -> None:
    """A busy machine takes its time; what is refused here is refused for another reason."""
    monkeypatch.setattr(long_body, "DEADLINE_S", 900.0)


def read(text: str | bytes, node: str | None = "né/1 <b>", most: int = 16 << 20):
    data = text if isinstance(text, bytes) else text.encode()
    body = read_plain_text(io.BytesIO(data).read, None, most)
    return read_body_checks(body, node=node, busbw_gbps=480.0)


@pytest.mark.parametrize(("name", "node"), list(zip(TEXTS, cycle([None, "né/1 <b>"]))))
def test_it_reads_what_is_read_at_once(monkeypatch, name: str, node: str | None) -> None:
    started = []
    real = one_shot.run_child
    monkeypatch.setattr(
        long_body, "run_child", lambda *given, **more: (started.append(1), real(*given, **more))[1]
    )
    found = read(TEXTS[name], node)
    here = checks_of(TEXTS[name].encode(), "body", node=node, busbw_gbps=480.0)

    assert started
    assert found == here
    assert found is not None
    assert found.results


def test_a_short_one_needs_no_process(monkeypatch) -> None:
    monkeypatch.setattr(one_shot.subprocess, "Popen", None)

    assert read(samples.dcgm3()) == replace(
        checks_of(samples.dcgm3().encode(), "body", node="né/1 <b>", busbw_gbps=480.0)
    )


def test_what_nobody_claims_needs_none_either(monkeypatch) -> None:
    monkeypatch.setattr(one_shot.subprocess, "Popen", None)

    assert read(b"hello\n" * 100_000) is None


def test_what_is_longer_than_it_may_be_is_refused() -> None:
    with pytest.raises(Unprocessable, match="more than 1,000,000 bytes"):
        read(TEXTS["perfquery"] * 9, most=1_000_000)


def test_what_takes_too_much_memory_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(long_body, "MEMORY_BYTES", 256 << 20)
    head = '{"DCGM GPU Diagnostic":{"test_categories":['

    with pytest.raises(Corrupt, match="more memory or time"):
        read(head + "[]," * (5 << 20) + "1]}}")


@pytest.mark.parametrize("death", [signal.SIGSEGV, signal.SIGKILL])
def test_a_reader_that_dies_refuses_its_body_alone(monkeypatch, death: signal.Signals) -> None:
    real = subprocess.Popen

    def dies(*given, **more):
        child = real(*given, **more)
        os.kill(child.pid, death)
        return child

    with monkeypatch.context() as patched:
        patched.setattr(one_shot.subprocess, "Popen", dies)
        with pytest.raises(Corrupt, match="more memory or time"):
            read(TEXTS["perfquery"])
    assert read(TEXTS["perfquery"])
