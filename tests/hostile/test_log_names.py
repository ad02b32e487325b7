"""Names of machines are text: never a command, never a sequence for a terminal."""

import re
from pathlib import Path

import pytest

import triage
from tests.hostile.log_incident import NODES, good, job_json, write
from triage.domain.report import Answer
from triage.render.page import html
from triage.render.terminal import explained, text
from triage.render.words import next_step
from triage.report import explain, read_rows

HOSTILE = (
    "$(reboot)", "`reboot`", "n2;reboot", "n2|reboot", "n2&&reboot", "n2 reboot", "-rf",
    "n2'reboot'", 'n2"reboot"', "n2>reboot", "\u202e2n", "n\u200b2", "n2\x1b[2J", "n2\nreboot",
    "<script>x</script>", "n" * 256, "节点二", "%s%n", "..", "n2\\", "*",
)  # fmt: skip
# What a shell takes as it stands.
PLAIN = re.compile(r"[A-Za-z0-9_.:,=/@%+-]+")
UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


def answer_with(name: str, folder: Path) -> Answer:
    """The answer where the guilty node has another name."""
    files = good()
    log = files.pop("nodes/n2/kernel.log")
    assert isinstance(log, str)
    printed = re.sub(r"\s", "_", name)
    files["kernel.log"] = log.replace(" n2 kernel:", f" {printed} kernel:")
    nodes = [name if node == "n2" else node for node in NODES]
    files["job.json"] = job_json(nodes=nodes, gpu_bus_ids={})
    files["job.log"] = str(files["job.log"]).replace("n2:", f"{printed}:")
    return triage.analyze(write(folder, files)).answer


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_no_name_becomes_a_command(name: str, tmp_path: Path) -> None:
    answer = answer_with(name, tmp_path)
    for command in next_step.cordon_commands(answer):
        for word in re.sub(r"(reason=)'[^']*'", r"\1said", command, flags=re.I).split():
            assert PLAIN.fullmatch(word.strip("\"'")), command
        assert not re.search(r"\breboot\)|`|\$\(|[;|&<>]", command)
    shown = text.render(answer)
    assert not UNSEEN.search(shown)
    assert "\n" not in answer.verdict.summary
    page = html.render(answer)
    assert "<script>x" not in page
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", page)


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_the_explanation_and_the_rows_stay_inert(name: str, tmp_path: Path) -> None:
    answer_with(name, tmp_path)
    assert not UNSEEN.search(explained.render(explain(tmp_path)))
    assert all(isinstance(row["artifact"], str) for row in read_rows(tmp_path))


def test_the_guilty_is_named_by_any_name_that_is_one(tmp_path: Path) -> None:
    for k, name in enumerate(("gpu-0002.cluster.example", "a" * 63, "10-0-3-7", "N2_b")):
        answer = answer_with(name, tmp_path / str(k))
        assert [one.node for one in answer.suspects if one.role == "culprit"] == [name]
        assert answer.verdict.cordon == (name,)


def test_a_plain_name_has_its_command(tmp_path: Path) -> None:
    assert any(
        "gpu-2" in command for command in next_step.cordon_commands(answer_with("gpu-2", tmp_path))
    )


def answer_by_folder(name: str, folder: Path, *, listed: bool) -> Answer:
    """The answer where the sender's word alone (a folder, a query) says whose the log is."""
    files = good()
    log = files.pop("nodes/n2/kernel.log")
    assert isinstance(log, str)
    files[f"nodes/{name}/kernel.log"] = log.replace(" n2 kernel:", " kernel:")
    nodes = [name if node == "n2" else node for node in NODES]
    files["job.json"] = job_json(nodes=nodes if listed else [], gpu_bus_ids={})
    files["job.log"] = "".join(
        line for line in str(files["job.log"]).splitlines(True) if "n2:" not in line
    )
    return triage.analyze(write(folder, files)).answer


MARKUP = ("n<img src=x onerror=alert(1)>", "n 2", "n2;reboot", "-rf", "fe80::1", "n2'x'", "节点二")


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("name", MARKUP, ids=ascii)
def test_no_name_that_is_no_host_name_is_cordoned(name: str, listed: bool, tmp_path: Path) -> None:
    answer = answer_by_folder(name, tmp_path, listed=listed)
    assert name in {suspect.node for suspect in answer.suspects}
    assert answer.verdict.cordon == ()


def test_a_host_name_of_a_folder_is_cordoned(tmp_path: Path) -> None:
    assert answer_by_folder("gpu-2.example", tmp_path, listed=True).verdict.cordon == (
        "gpu-2.example",
    )


def test_a_node_that_the_job_does_not_list_is_not_cordoned(tmp_path: Path) -> None:
    files = good()
    log = files.pop("nodes/n2/kernel.log")
    assert isinstance(log, str)
    files["nodes/innocent-1/kernel.log"] = log.replace(" n2 kernel:", " innocent-1 kernel:")

    assert triage.analyze(write(tmp_path, files)).answer.verdict.cordon == ()
