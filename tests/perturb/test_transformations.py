"""What single transformations do to the bytes."""

import gzip
import random
import re
from pathlib import Path

from simulator.perturb.clocks import dump_moved
from simulator.perturb.incident import load, save
from simulator.perturb.invented import reworded
from simulator.perturb.registry import named
from tests.laws.drills import drill
from tests.support.answering import Answerer
from tests.support.cases import RECORDED
from triage.report import analyze


def test_an_answer_in_memory_is_that_to_the_folder(tmp_path: Path) -> None:
    folder = RECORDED / "logs-gpu-lost-with-dumps-w8" / "files"
    verdict = analyze(folder).answer.verdict
    said = Answerer(tmp_path).said(load(folder).files)
    assert (said.kind, said.category, said.confidence) == (
        verdict.kind, verdict.category, verdict.confidence,
    )  # fmt: skip


def test_loading_unpacks_and_knows_the_node_of_each_file(tmp_path: Path) -> None:
    save({"nodes/n1/kernel.log.gz": gzip.compress(b"[    1.000000] a\n"),
          "job.json": b'{"nodes": ["n1", "n2"]}', "dmesg-n2.txt": b"b\n"}, tmp_path)  # fmt: skip
    incident = load(tmp_path)
    assert incident.files["nodes/n1/kernel.log"] == b"[    1.000000] a\n"
    assert incident.node_of == {"nodes/n1/kernel.log": "n1", "dmesg-n2.txt": "n2"}
    assert incident.nodes == ("n1", "n2")


def test_rewording_keeps_the_driver_and_the_numbers() -> None:
    text = "NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus."
    made = reworded(text, random.Random(1))
    assert made.startswith("NVRM: ")
    assert re.findall(r"\d+", made) == re.findall(r"\d+", text)
    assert not {"Xid", "PCI", "GPU", "fallen", "bus"} & set(re.findall(r"[A-Za-z]+", made))


def test_a_dump_is_moved_where_it_holds_times_and_nowhere_else() -> None:
    near, far = 1_768_466_871_000_000_000, 0x55C00040_00000000
    dump = b"\x80\x02" + b"".join(b"\x8a\x08" + n.to_bytes(8, "little") for n in (near, far))
    moved = dump_moved(dump, 5, near)
    assert moved[4:12] == (near + 5).to_bytes(8, "little")
    assert moved[14:] == dump[14:]


def test_a_clock_that_is_off_is_off_in_the_dumps_too() -> None:
    incident = drill("tokenizer").incident
    made = named("clocks-off").apply(incident, random.Random(2))
    assert made is not None
    assert all(made.files[name] != incident.files[name] for name in incident.dumps())
    assert [len(one) for one in made.files.values()][:3] == [
        len(one) for one in incident.files.values()
    ][:3]


def test_a_flood_is_a_line_of_evidence_a_thousand_times() -> None:
    incident = drill("logs-nic-w16").incident
    made = named("flood").apply(incident, random.Random(2))
    assert made is not None
    (name,) = (one for one in made.files if made.files[one] != incident.files[one])
    assert made.files[name].count(b"\n") == incident.files[name].count(b"\n") + 999
    assert any(file == name for file, _ in incident.told)
