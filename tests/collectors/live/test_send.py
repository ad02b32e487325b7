"""A pulled folder goes to a service by the spool, with all its files and its job's name."""

import json
from pathlib import Path

import pytest

from tests.collectors.scripted import TOKEN, accepted, refused, service
from triage.collectors.live.command import send_folder
from triage.collectors.live.options import LiveOptions


@pytest.fixture
def pulled(tmp_path: Path) -> Path:
    root = tmp_path / "pulled"
    (root / "nodes" / "n1" / "look-1").mkdir(parents=True)
    (root / "job.json").write_text(json.dumps({"job_id": "4711", "rank_to_node": {"0": "n1"}}))
    (root / "nodes" / "n1" / "look-1" / "rank_0_proc.txt").write_text("== status\n")
    return root


def sent(url: str, pulled: Path, seconds: float = 60.0) -> tuple[int, list[str]]:
    lines: list[str] = []
    environment = {
        "TRIAGE_TOKEN": TOKEN, "XDG_STATE_HOME": str(pulled.parent), "HOME": str(pulled.parent)
    }  # fmt: skip
    options = LiveOptions(send=True, url=url, spool=str(pulled.parent / "spool"))
    return send_folder(options, environment, str(pulled), lines.append, seconds), lines


def test_sends_every_file_under_the_jobs_name(pulled: Path) -> None:
    with service(accepted()) as there:
        status, lines = sent(there.url, pulled)

    (request,) = there.requests
    assert status == 0
    assert request.path.startswith("/v1/jobs/4711/bundle")
    assert set(request.members) == {"job.json", "nodes/n1/look-1/rank_0_proc.txt"}
    assert lines[-1].startswith("sent 2 files")
    assert "incident inc_7" in lines[-1]


def test_what_the_service_does_not_take_now_waits_in_the_spool(pulled: Path) -> None:
    with service(refused(503)) as there:
        status, lines = sent(there.url, pulled, seconds=2.0)

    assert status == 1
    assert "it waits in" in lines[-1]
    assert len(list((pulled.parent / "spool").glob("*.bundle"))) == 1
