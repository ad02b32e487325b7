"""The commands that ask a service: incidents, show, watch, node."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

from tests.api.service import context_at, serving
from tests.client.conftest import JOB
from tests.services.whole_jobs import GPU_LOST
from tests.workers.running import ROOT, environment
from triage.cli import watch as watching
from triage.cli.main import main
from triage.render.terminal import text


@pytest.fixture
def run(address, monkeypatch, capsysbinary):
    """A command in this process against the service: status, stdout, stderr."""
    for name in ("TRIAGE_TOKEN", "TRIAGE_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRIAGE_URL", address)

    def call(*arguments):
        status = main(arguments)
        said = capsysbinary.readouterr()
        return status, said.out.decode(), said.err.decode()

    return call


def fits(shown, width=80):
    return all(len(line) <= width for line in shown.splitlines())


def test_incidents_are_listed_in_lines_that_fit(run, lost):
    status, out, err = run("incidents", "--job-id", JOB["job_id"])
    assert (status, err) == (0, "")
    assert fits(out)
    head, sentence, *_ = out.splitlines()
    assert head.startswith(f"{lost.id}  20")
    assert head.endswith(f"ready  job {JOB['job_id']}")
    # Another test may have said what it turned out to be.
    assert re.match(
        r"  crash, gpu, 0\.99( \(turned out to be gpu\))?: On gpu-0102 \(rank 2", sentence
    )


def test_incidents_say_that_there_are_more(run, client, lost):
    client.job_failed({"job_id": "another", "expected_artifacts": 3})
    _, out, _ = run("incidents", "--limit", "1")
    assert out.endswith("and more; --limit N shows them\n")
    assert "collecting, 0 of 3 files" in out
    assert "no verdict yet" in out
    _, out, _ = run("incidents", "--limit", "500")
    assert "and more" not in out


def test_incidents_as_objects(run, lost):
    status, out, _ = run("incidents", "--node", "gpu-0102", "--format", "jsonl")
    rows = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert lost.id in [row["id"] for row in rows]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [(["--since", "1h"], True), (["--since", "2030-01-01T00:00:00Z"], False),
     (["--category", "nic"], False), (["--state", "failed"], False)],
)  # fmt: skip
def test_filters_reach_the_service(arguments, found, run, lost):
    status, out, _ = run("incidents", *arguments)
    assert status == 0
    assert (lost.id in out) is found
    assert found or out == "no incident\n"


def test_show_prints_what_analyze_prints(run, lost):
    status, out, err = run("show", lost.id)
    assert (status, err) == (0, "")
    assert out == text.render(lost.report.answer)
    _, local, _ = run("analyze", str(GPU_LOST))
    assert out.splitlines()[:4] == local.splitlines()[:4]
    assert fits(out)


def test_show_in_other_forms(run, lost, tmp_path):
    _, out, _ = run("show", lost.id, "--format", "json")
    assert json.loads(out) == lost.to_dict()
    page = tmp_path / "a.html"
    assert run("show", lost.id, "-f", "html", "-o", str(page)) == (0, "", "")
    assert page.read_text().startswith("<!DOCTYPE html>")
    _, out, _ = run("show", lost.id, "--top", "1")
    assert "  2. " not in out


def test_show_before_an_answer_names_the_command(run, client):
    opened = client.job_failed({"job_id": "not-yet", "expected_artifacts": 9})
    status, out, err = run("show", opened.id)
    assert (status, out) == (2, "")
    assert f"no verdict yet; triage watch {opened.id} waits for it" in err


def test_node_has_its_history(run, lost):
    status, out, err = run("node", "gpu-0102")
    assert (status, err) == (0, "")
    assert fits(out)
    assert re.match(r"gpu-0102: culprit in (1 incident|\d+ incidents) of the last 30 days", out)
    assert lost.id in out
    assert "Errors of its logs, most frequent first\n  - " in out
    assert re.search(r"\n  - xid 79, gpu, 0000:1b:00: \d+ lines? in \d+ incidents?, last ", out)
    _, out, _ = run("node", "gpu-0102", "--format", "json")
    assert json.loads(out)["node"] == "gpu-0102"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "nowhere"], "there is no such incident; triage incidents lists them"),
        (["watch", "nowhere"], "there is no such incident; triage incidents lists them"),
        (["node", "never-seen"], "nothing has named this node yet"),
        (["incidents", "--state", "gone"], "query/state"),
        (["incidents", "--since", "soon"], "--since: 'soon' is no time"),
        (["incidents", "--limit", "0"], "--limit"),
        (["show", "x", "--top", "0"], "give 1 or more"),
        (["incidents", "--url", "nowhere"], "give one like https://"),
        (["incidents", "--token-file", "/nowhere/token"], "/nowhere/token cannot be read"),
        (["show"], "ID"),
    ],
)
def test_what_cannot_be_is_one_sentence(arguments, words, run):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_nobody_at_the_usual_place_names_the_option(run, monkeypatch):
    monkeypatch.delenv("TRIAGE_URL")
    monkeypatch.setattr("triage.client.transport.PAUSE_S", 0.001)
    monkeypatch.setattr("triage.cli.ask.LOCAL", "http://127.0.0.1:9")
    status, _, err = run("incidents")
    assert status == 2
    assert "cannot reach http://127.0.0.1:9" in err
    assert "--url or TRIAGE_URL names another service" in err


def test_the_token_comes_from_a_file(tmp_path, monkeypatch, capsys):
    ctx = context_at(tmp_path)
    with serving(ctx) as service:
        url = f"http://127.0.0.1:{service.port}"
        secret = tmp_path / "token"
        secret.write_text(service.tokens["read"] + "\n")
        secret.chmod(0o600)
        monkeypatch.delenv("TRIAGE_TOKEN", raising=False)
        assert main(["incidents", "--url", url]) == 2
        assert "token" in capsys.readouterr().err
        assert main(["incidents", "--url", url, "--token-file", str(secret)]) == 0
        monkeypatch.setenv("TRIAGE_TOKEN_FILE", str(secret))
        assert main(["incidents", "--url", url]) == 0
        secret.chmod(0o644)
        capsys.readouterr()
        assert main(["incidents", "--url", url]) == 0
        assert "others can read" in capsys.readouterr().err
        secret.write_text(service.tokens["ingest"])
        assert main(["incidents", "--url", url]) == 2
        said = capsys.readouterr().err
        assert "read" in said
        assert service.tokens["ingest"] not in said
    ctx.close()


def test_watch_ends_with_the_answer(run, client, monkeypatch):
    opened = client.job_failed({**JOB, "job_id": "watched"})
    shown = threading.Event()

    open_screen = watching._open_screen

    @contextmanager
    def noted():
        with open_screen() as show:

            def tell(lines):
                show(lines)
                shown.set()

            yield tell

    monkeypatch.setattr(watching, "_open_screen", noted)

    def send():
        assert shown.wait(120)
        client.upload(GPU_LOST, incident=opened)

    sender = threading.Thread(target=send)
    sender.start()
    status, out, err = run("watch", opened.id, "--timeout", "300")
    sender.join()
    assert status == 0
    assert out == text.render(client.incident(opened.id).report.answer)
    states = [line.split(" ", 1)[1] for line in err.splitlines()]
    assert states[0].startswith(f"{opened.id}, job watched: collecting, 0 files")
    assert states[-1].startswith(f"{opened.id}, job watched: ready; On gpu-0102")
    assert len(states) == len(set(states))


def test_watch_gives_up_when_the_time_is_up(run, client):
    opened = client.job_failed({"job_id": "slow", "expected_artifacts": 9})
    status, out, err = run("watch", opened.id, "--timeout", "0.1")
    assert (status, out) == (1, "")
    assert "no answer within 0.1 s" in err


def test_watch_on_a_terminal_is_one_view_and_ends_clean(address, client):
    opened = client.job_failed({"job_id": "seen", "expected_artifacts": 9})
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "triage.cli.main", "watch", opened.id],
        env=environment(TRIAGE_URL=address) | {"TERM": "xterm", "COLUMNS": "80"},
        cwd=ROOT, stdin=slave, stdout=subprocess.PIPE, stderr=slave,
        # Tests that a script starts with "&" ignore it, and so would what they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )  # fmt: skip
    os.close(slave)
    shown = b""
    while b"collecting, 0 of 9 files" not in shown:
        shown += os.read(master, 4096)
    process.send_signal(signal.SIGINT)
    shown += drained(master)
    assert process.wait(120) == 130
    assert process.stdout.read() == b""
    process.stdout.close()
    os.close(master)
    # The cursor is back, and nothing of the view is left standing.
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l")
    assert b"Traceback" not in shown


def drained(master):
    found = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:
            return found
        if not part:
            return found
        found += part


def test_help_fits_and_loads_no_service():
    for command in ("incidents", "show", "watch", "node", "completion"):
        done = subprocess.run(
            [sys.executable, "-m", "triage.cli.main", command, "--help"],
            capture_output=True, text=True, check=True, cwd=ROOT,
            env=environment() | {"COLUMNS": "80"},
        )  # fmt: skip
        assert fits(done.stdout)
