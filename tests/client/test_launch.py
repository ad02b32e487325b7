"""``triage launch`` against a service that runs, one that is away, and one that says nothing."""

import json
import socket
import time

import pytest

from tests.services.whole_jobs import GPU_LOST, fresh_files_of
from triage.cli.main import main

# On nodes of its own: what other tests list by node is not this.
FRESH = {
    name.replace("gpu-01", "gpu-09"): data.replace(b"gpu-01", b"gpu-09")
    for name, data in fresh_files_of(GPU_LOST).items()
}
JOB = {**json.loads(FRESH["job.json"]), "job_id": "lost-today"}


@pytest.fixture
def run(address, monkeypatch, capsys):
    for name in ("TRIAGE_TOKEN", "TRIAGE_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRIAGE_URL", address)

    def call(*arguments):
        status = main(["launch", *arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return call


@pytest.fixture(scope="module")
def lost(client, tmp_path_factory):
    """A job whose GPU was lost on the last day, answered."""
    folder = tmp_path_factory.mktemp("fresh")
    for name, data in FRESH.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    opened = client.job_failed(JOB)
    return client.wait(client.upload(folder, incident=opened).id, timeout_s=300)


@pytest.fixture
def node(lost):
    [found] = lost.facts["verdict"]["cordon"]
    return found


def test_the_node_is_left_out_in_the_words_of_each_launcher(run, node):
    job = JOB["job_id"]
    status, out, _ = run(job)
    assert (status, out.splitlines()[0].startswith(f"start without {node}: ")) == (0, True)
    assert run(job, "--format", "slurm")[:2] == (0, f"--exclude={node}\n")
    assert run(job, "--format", "deepspeed")[:2] == (0, f"--exclude={node}\n")
    assert run(job, "--format", "hosts")[:2] == (0, f"{node}\n")
    assert json.loads(run(job, "--format", "json")[1])["exclude"] == [node]


def test_the_node_itself_does_not_take_part_and_others_do(run, node):
    status, out, _ = run(JOB["job_id"], "--node", node)
    assert (status, out.startswith(f"{node} is left out: ")) == (3, True)
    assert run(JOB["job_id"], "--node", "another")[0] == 0


def test_a_job_nobody_knows_may_start(run):
    status, out, _ = run("never-heard-of", "--cluster", "nowhere")
    assert (status, out) == (0, "start: No failure of this job is on record.\n")
    assert run("never-heard-of", "--cluster", "nowhere", "--format", "slurm")[:2] == (0, "")


def test_an_outage_of_ours_lets_the_job_start(run):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes requests, answers none
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        began = time.monotonic()
        status, out, err = run("1", "--url", url, "--deadline", "0.5", "--format", "slurm")
        assert time.monotonic() - began < 3
        assert (status, out, "start without an answer" in err) == (0, "", True)
        status, out, err = run("1", "--url", url, "--deadline", "0.2", "--strict")
        assert (status, out, "--strict" in err) == (4, "", True)
