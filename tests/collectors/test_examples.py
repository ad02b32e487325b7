"""The examples run: scripts against a service of the test, manifests against the options."""

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.collectors.scripted import (
    ROOT,
    TOKEN,
    accepted,
    bare_environment,
    dump,
    refused,
    service,
)  # fmt: skip
from tests.support.waiting import eventually
from triage.collectors.command import parser

EXAMPLES = ROOT / "examples"
SCRIPTS = sorted(EXAMPLES.rglob("*.sh"))
MANIFESTS = sorted((EXAMPLES / "kubernetes").glob("*.yaml"))
# How long a script may take on a busy machine.
PATIENCE_S = 180
OPTIONS = {option for action in parser()._actions for option in action.option_strings}

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")


def shell(
    tmp_path: Path, script: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run ``script`` as a scheduler would: nothing in the environment but what is given."""
    return subprocess.run(
        ["/bin/sh", str(script), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        cwd=tmp_path,
    )


def conf(tmp_path: Path, url: str) -> str:
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    (tmp_path / "header").write_text(f"Authorization: Bearer {TOKEN}\n")
    lines = {
        "TRIAGE_URL": url,
        "TRIAGE_TOKEN_FILE": tmp_path / "token",
        "TRIAGE_HEADER_FILE": tmp_path / "header",
        "TRIAGE_HOME": ROOT,
        "TRIAGE_PYTHON": sys.executable,
        "TRIAGE_LOG": tmp_path / "log",
        "TRIAGE_SPOOL": tmp_path / "hooks",
        "TRIAGE_DEADLINE_S": 120,
    }
    path = tmp_path / "conf"
    path.write_text("".join(f"{k}={shlex.quote(str(v))}\n" for k, v in lines.items()))
    return str(path)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_good_shell(script) -> None:
    assert os.access(script, os.X_OK)
    subprocess.run(["/bin/sh", "-n", str(script)], check=True)
    if shutil.which("shellcheck"):
        done = subprocess.run(
            ["shellcheck", "-s", "sh", str(script)], capture_output=True, text=True, check=False
        )
        assert done.stdout == ""


@pytest.mark.parametrize("path", [*SCRIPTS, *MANIFESTS], ids=lambda path: path.name)
def test_an_example_uses_options_that_there_are(path) -> None:
    text = path.read_text("utf-8")
    for found in re.finditer(r"triage\.collectors(?:[^\n]*\\\n)*[^\n]*", text):
        used = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", found[0]))
        assert used <= OPTIONS, used - OPTIONS


def slurm(tmp_path: Path, where: str, **more: str) -> dict[str, str]:
    return {
        "TRIAGE_CONF": where, "SLURM_JOB_ID": "4711", "SLURMD_NODENAME": "n3",
        "SLURM_JOB_WORK_DIR": str(tmp_path), "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path),
        "TORCH_FR_DUMP_TEMP_FILE": str(tmp_path / "fr" / "trace_rank_"), **more,
    }  # fmt: skip


@pytest.fixture
def spooled_here(tmp_path, monkeypatch):
    """The epilog of the examples with a spool in the test's folder: root's is the machine's."""
    text = (EXAMPLES / "slurm" / "epilog.sh").read_text()
    assert "--deadline" in text
    path = tmp_path / "epilog.sh"
    path.write_text(text.replace("--deadline", f"--spool {tmp_path}/spool --deadline"))
    return path


def test_the_epilog_returns_at_once_and_the_bundle_arrives(tmp_path, spooled_here) -> None:
    dump(tmp_path / "fr", 1)
    (tmp_path / "slurm-4711.out").write_text("x\n")
    with service(accepted()) as there:
        done = shell(tmp_path, spooled_here, **slurm(tmp_path, conf(tmp_path, there.url)))
        eventually(lambda: there.requests)
        eventually(lambda: "sent 1 dump" in (tmp_path / "log").read_text())

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (request,) = there.requests
    assert request.path == "/v1/jobs/4711/bundle?node=n3"
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert {"fr/trace_rank_1", "nodes/n3/slurm-4711.out"} <= set(request.members)


def test_the_epilog_does_not_wait_for_a_service_that_hangs(tmp_path, spooled_here) -> None:
    dump(tmp_path / "fr", 1)
    with service("hang", refused(401)) as there:
        where = conf(tmp_path, there.url)
        with open(where, "a") as file:
            file.write(f"TRIAGE_DEADLINE_S={PATIENCE_S + 60}\n")
        # It returns, and the service has not said a word yet.
        done = shell(tmp_path, spooled_here, **slurm(tmp_path, where))
        assert there.arrived.wait(PATIENCE_S)
        there.ended.set()
        eventually(lambda: "not sent" in (tmp_path / "log").read_text())

    assert done.returncode == 0
    assert list((tmp_path / "spool").glob("*.bundle"))


@pytest.mark.parametrize(
    "change",
    [{"SLURM_JOB_EXIT_CODE": "0"}, {"SLURM_JOB_ID": ""}, {"TRIAGE_CONF": "/nonexistent"},
     {"TRIAGE_PYTHON": "/nonexistent"}],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_the_epilog_never_fails(tmp_path, spooled_here, change) -> None:
    dump(tmp_path / "fr", 1)
    with service(accepted()) as there:
        where = conf(tmp_path, there.url)
        if "TRIAGE_PYTHON" in change:
            with open(where, "a") as file:
                file.write("TRIAGE_PYTHON=/nonexistent\n")
        done = shell(tmp_path, spooled_here, **slurm(tmp_path, where, **change))
        time.sleep(0.5)

    assert done.returncode == 0
    assert there.requests == []


def hook(tmp_path: Path, url: str, **more: str):
    return shell(
        tmp_path,
        EXAMPLES / "slurm" / "EpilogSlurmctld.sh",
        **{
            "TRIAGE_CONF": conf(tmp_path, url), "SLURM_JOB_ID": "4711", "SLURM_CLUSTER_NAME": "a",
            "SLURM_JOB_NAME": "pre train", "SLURM_JOB_NODELIST": "gpu[001-128,130]",
            "SLURM_JOB_EXIT_CODE": "34304", "SLURM_JOB_EXIT_CODE2": "134:0",
            "SLURM_JOB_START_TIME": "1795222800", **more,
        },
    )  # fmt: skip


@needs_curl
def test_the_head_node_tells_of_the_failure(tmp_path) -> None:
    with service((202, {}, {})) as there:
        done = hook(tmp_path, there.url)
        eventually(lambda: there.requests)
        eventually(lambda: not list((tmp_path / "hooks").iterdir()))

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (request,) = there.requests
    said = json.loads(request.body)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", said.pop("failed_at"))
    assert said == {
        "source": "slurm", "job_id": "4711", "cluster": "a", "name": "pre train",
        "nodelist": "gpu[001-128,130]", "exit_code": "134:0",
        "SLURM_JOB_START_TIME": "1795222800", "SLURM_RESTART_COUNT": "", "gpus_per_node": None,
    }  # fmt: skip
    assert request.path == "/v1/hooks/job-failed"
    assert request.headers["authorization"] == f"Bearer {TOKEN}"


def run_and_kill_its_group(tmp_path: Path, script: Path, environment: dict[str, str]) -> None:
    """As slurmd and slurmctld do it, on a machine so busy that a new session takes its time."""
    slow = tmp_path / "setsid"
    slow.write_text('#!/bin/sh\nsleep 0.5\nexec /usr/bin/setsid "$@"\n')
    slow.chmod(0o755)
    text = script.read_text()
    assert "SETSID=/usr/bin/setsid" in text
    copy = tmp_path / f"slow-{script.name}"
    copy.write_text(text.replace("SETSID=/usr/bin/setsid", f"SETSID={slow}"))
    process = subprocess.Popen(["/bin/sh", copy], env=environment, start_new_session=True)
    assert process.wait(30) == 0
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def test_the_collector_outlives_the_process_group_that_slurm_kills(tmp_path, spooled_here) -> None:
    dump(tmp_path / "fr", 1)
    with service(accepted()) as there:
        run_and_kill_its_group(tmp_path, spooled_here, slurm(tmp_path, conf(tmp_path, there.url)))
        eventually(lambda: there.requests)


@needs_curl
def test_what_sends_outlives_the_process_group_that_slurm_kills(tmp_path) -> None:
    with service((202, {}, {})) as there:
        environment = {
            "TRIAGE_CONF": conf(tmp_path, there.url), "SLURM_JOB_ID": "4711",
            "SLURM_JOB_EXIT_CODE2": "134:0", "SLURM_JOB_EXIT_CODE": "34304",
            "TRIAGE_SPOOL": str(tmp_path / "hooks"),
        }  # fmt: skip
        script = EXAMPLES / "slurm" / "EpilogSlurmctld.sh"
        run_and_kill_its_group(tmp_path, script, environment)
        eventually(lambda: there.requests)


@needs_curl
def test_the_head_node_tells_of_a_job_that_ended_well(tmp_path) -> None:
    well = {"SLURM_JOB_EXIT_CODE": "0", "SLURM_JOB_EXIT_CODE2": "0:0"}
    with service((202, {}, {})) as there:
        hook(tmp_path, there.url, **well)
        eventually(lambda: there.requests)
        eventually(lambda: not list((tmp_path / "hooks").iterdir()))

    (request,) = there.requests
    said = json.loads(request.body)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", said["ended_at"])
    assert (said["exit_code"], said.get("failed_at")) == ("0:0", None)
    assert request.path == "/v1/hooks/job-ended"


@needs_curl
def test_what_the_head_node_could_not_tell_goes_out_with_the_next(tmp_path) -> None:
    with service((503, {}, {})) as there:
        hook(tmp_path, there.url, SLURM_JOB_ID="1")
        eventually(lambda: there.requests)
    assert len(list((tmp_path / "hooks").glob("*.json"))) == 1

    with service((202, {}, {})) as there:
        hook(tmp_path, there.url, SLURM_JOB_ID="2")
        eventually(lambda: not list((tmp_path / "hooks").glob("*.json")))

    assert sorted(json.loads(one.body)["job_id"] for one in there.requests) == ["1", "2"]


@needs_curl
def test_a_message_that_is_refused_does_not_block_the_next(tmp_path) -> None:
    with service(refused(422), (202, {}, {})) as there:
        hook(tmp_path, there.url, SLURM_JOB_ID="1")
        eventually(lambda: list((tmp_path / "hooks").glob("*.refused")))
        hook(tmp_path, there.url, SLURM_JOB_ID="2")
        eventually(lambda: len(there.requests) == 2)
        eventually(lambda: not list((tmp_path / "hooks").glob("*.json")))


@needs_curl
@pytest.mark.parametrize("name", ['a"b', "a\\", "a\nb", "$(id)", "`id`", '","job_id":"9', "é"])
def test_no_name_of_a_job_breaks_the_message(tmp_path, name) -> None:
    with service((202, {}, {})) as there:
        hook(tmp_path, there.url, SLURM_JOB_NAME=name)
        eventually(lambda: there.requests)
        eventually(lambda: not list((tmp_path / "hooks").iterdir()))

    said = json.loads(there.requests[0].body)
    assert said["job_id"] == "4711"
    assert set(said["name"]) <= set(name)


def test_a_head_node_that_is_not_configured_is_silent(tmp_path) -> None:
    with service((202, {}, {})) as there:
        assert hook(tmp_path, there.url, TRIAGE_CONF="/none").returncode == 0
        time.sleep(0.3)

    assert there.requests == []
    assert not (tmp_path / "hooks").exists()


def wrapped(tmp_path: Path, url: str, command: str) -> subprocess.CompletedProcess[str]:
    environment = bare_environment(
        tmp_path, TRIAGE_URL=url, TRIAGE_JOB_ID="7", TRIAGE_FOLDER=str(tmp_path / "run"),
        TRIAGE_COLLECT=f"{sys.executable} -S -m triage.collectors --spool {tmp_path}/spool",
    )  # fmt: skip
    script = EXAMPLES / "torchrun" / "run_with_triage.sh"
    return shell(tmp_path, script, "/bin/sh", "-c", command, **environment)


def test_the_wrapper_sends_what_a_failed_command_leaves(tmp_path) -> None:
    leave = (
        'echo "[rank3] RuntimeError"; echo err >&2; echo x >"$TORCH_FR_DUMP_TEMP_FILE"3; '
        'test "$TORCH_NCCL_TRACE_BUFFER_SIZE" = 2000 && exit 134'
    )
    with service(accepted()) as there:
        done = wrapped(tmp_path, there.url, leave)

    assert done.returncode == 134
    assert "[rank3] RuntimeError" in done.stdout
    members = there.requests[0].members
    assert members["fr/trace_rank_3"] == b"x\n"
    (log,) = [data for name, data in members.items() if name.endswith("/output.log")]
    assert log == b"[rank3] RuntimeError\nerr\n"


def test_the_wrapper_is_silent_when_all_went_well(tmp_path) -> None:
    with service(accepted()) as there:
        done = wrapped(tmp_path, there.url, "echo fine")

    assert (done.returncode, done.stdout) == (0, "fine\n")
    assert there.requests == []


def test_the_wrapper_keeps_the_status_when_the_service_is_away(tmp_path) -> None:
    with service(refused(401)) as there:
        done = wrapped(tmp_path, there.url, "exit 3")

    assert done.returncode == 3


@needs_curl
def test_the_recipe_with_curl_alone(tmp_path) -> None:
    dump(tmp_path / "fr", 0)
    with service(refused(503, Retry_After="1"), accepted()) as there:
        done = shell(
            tmp_path, EXAMPLES / "curl" / "upload.sh", "a/7", "n 3", "fr",
            PATH="/usr/bin:/bin", TRIAGE_URL=there.url, TRIAGE_HEADER_FILE=str(tmp_path / "header"),
            TRIAGE_CONF=conf(tmp_path, there.url),
        )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "inc_7" in done.stdout
    assert there.requests[-1].path == "/v1/jobs/%61%2f%37/bundle?node=%6e%20%33"
    assert there.requests[-1].headers["authorization"] == f"Bearer {TOKEN}"
