"""The example notebooks run from top to bottom, and show what they say."""

import re
import tempfile
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_output
from traitlets.config import Config

from tests.workers.running import serving

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "examples" / "investigation.ipynb"
SERVICE = ROOT / "examples" / "service.ipynb"
FLEET = ROOT / "examples" / "fleet.ipynb"
REPAIRS = ROOT / "examples" / "repairs.ipynb"
EXPORTS = ROOT / "examples" / "exports.ipynb"
# Beliefs and measured delays move with the weights and are not what the page is about.
NUMBER = re.compile(r"\d+\.\d+")


@pytest.fixture(scope="module")
def kept():
    return nbformat.read(NOTEBOOK, as_version=4)


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with pytest.MonkeyPatch.context() as patch:
        return run(notebook, tmp_path_factory.mktemp("kernel"), patch)


def run(notebook, folder, patch):
    """The notebook, executed by a kernel that keeps its files in ``folder``."""
    patch.setenv("PYTHONPATH", str(ROOT))
    patch.setenv("IPYTHONDIR", str(folder / "ipython"))
    patch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "jupyter"))
    # Sockets of a folder: a port that was free when it was looked for may be another's by now.
    with tempfile.TemporaryDirectory(prefix="kernel-") as sockets:
        client = NotebookClient(
            notebook, timeout=900, startup_timeout=600, kernel_name="python3", record_timing=False,
            resources={"metadata": {"path": str(NOTEBOOK.parent)}},
            config=Config({"KernelManager": {"transport": "ipc", "ip": f"{sockets}/k"}}),
        )  # fmt: skip
        return client.execute()


def code_of(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def said(cell):
    """The text of each output; a kernel sends what is printed in as many pieces as it likes."""
    found = []
    for kind, outputs in groupby(cell.outputs, lambda output: output.output_type):
        assert kind != "error", [output.get("traceback") for output in outputs]
        if kind == "stream":
            found.append("".join(output.text for output in outputs))
        else:
            found += [output.data["text/plain"] for output in outputs]
    return [NUMBER.sub("0.0", one) for one in found]


def test_a_stream_in_two_pieces_says_the_same():
    pieces = [new_output("stream", text=text) for text in ("578 returns", "\n")]
    whole = [new_output("stream", text="578 returns\n")]

    assert said(new_code_cell(outputs=pieces)) == said(new_code_cell(outputs=whole))


def test_it_runs_and_says_what_it_keeps(executed, kept):
    assert [said(cell) for cell in code_of(executed)] == [said(cell) for cell in code_of(kept)]


def test_every_picture_is_there(executed, kept):
    for notebook in (executed, kept):
        pictures = [
            ElementTree.fromstring(output.data["image/svg+xml"])
            for cell in code_of(notebook)
            for output in cell.outputs
            if "image/svg+xml" in output.get("data", {})
        ]
        assert [picture.get("class") for picture in pictures] == ["graph", "grid"]


def test_the_words_are_true(executed):
    text = "\n".join(cell.source for cell in executed.cells if cell.cell_type == "markdown")
    first = code_of(executed)[0].outputs[0].data["text/html"]
    assert "gpu-0102" in first
    assert "0000:1b:00" in first
    for word in ("Xid 79", "Xid 45", "SXid 22013", "Xid 154", "`gpu-0102`", "`0000:1b:00`"):
        assert word in text


def test_the_service_notebook_runs_against_a_service(tmp_path, monkeypatch):
    notebook = nbformat.read(SERVICE, as_version=4)
    wanted = [said(cell) for cell in code_of(notebook)]
    with serving(tmp_path, TRIAGE_QUIET_S="1") as (_, address):
        monkeypatch.setenv("TRIAGE_URL", address)
        found = run(notebook, tmp_path, monkeypatch)
    assert [said(cell) for cell in code_of(found)] == wanted


def test_the_notebook_of_a_fleet_runs_and_says_what_it_keeps(tmp_path, monkeypatch):
    notebook = nbformat.read(FLEET, as_version=4)
    wanted = [said(cell) for cell in code_of(notebook)]
    found = run(notebook, tmp_path, monkeypatch)
    assert [said(cell) for cell in code_of(found)] == wanted
    found_all = "lemons     7\nfound      7\nwronged    0"
    assert any(found_all in text for cell in wanted for text in cell)


def test_the_notebook_of_repairs_goes_from_a_record_to_a_bad_node(tmp_path, monkeypatch):
    notebook = nbformat.read(REPAIRS, as_version=4)
    wanted = [said(cell) for cell in code_of(notebook)]
    found = run(notebook, tmp_path, monkeypatch)
    assert [said(cell) for cell in code_of(found)] == wanted


def test_the_notebook_of_exports_goes_from_files_to_a_test_plan(tmp_path, monkeypatch):
    notebook = nbformat.read(EXPORTS, as_version=4)
    wanted = [said(cell) for cell in code_of(notebook)]
    found = [said(cell) for cell in code_of(run(notebook, tmp_path, monkeypatch))]
    # Which nodes and how many moves with every weight; the tables stay what they are.
    heads = [[text.split("\n")[0].split() for text in cell] for cell in wanted]
    assert [[text.split("\n")[0].split() for text in cell] for cell in found][:-1] == heads[:-1]
    assert found[-1][0].startswith("bad found in ")


@pytest.mark.parametrize(
    "path", [NOTEBOOK, SERVICE, FLEET, REPAIRS, EXPORTS], ids=lambda path: path.name
)
def test_it_is_small_and_names_no_place_of_a_machine(path):
    raw = path.read_text("utf-8")
    assert len(raw) < 300_000
    assert nbformat.read(path, as_version=4).metadata.kernelspec.name == "python3"
    for word in (str(ROOT), "/home/", "/tmp/", "<script"):
        assert word not in raw
