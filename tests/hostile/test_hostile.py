"""No file stops the run, runs code, takes a gigabyte or five seconds, or goes unmentioned."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.hostile.bench import outcomes
from tests.hostile.folders import ODDITIES
from tests.hostile.inputs import ROWS, Hostile, everything, light
from tests.support.spent import spent_s
from triage.parsers.files.inputs import InputFile, find_inputs

ROOT = Path(__file__).parents[2]
GOOD = ROOT / "tests" / "data" / "nccl-healthy-w8"
SECONDS = 5.0
PEAK_MIB = 1024

NO_REASON = re.compile(r"\w(Error|Exception)\b|Traceback|more memory than|cannot be read: None")
KEPT = {"read", "partial"}


@pytest.fixture(autouse=True, scope="module")
def compiled() -> None:
    """The loops are compiled once per machine; that is not an input's time."""
    outcomes(GOOD / "comm_lib_trace_rank_0")


def wrong(one: Hostile, found: list[tuple[str, str]]) -> str | None:
    """What is not as it should be, or None."""
    kinds = {kind for kind, _ in found}
    reasons = [why for _, why in found if why]
    if not found:
        return "vanished"
    if one.wants == "refused" and kinds & KEPT:
        return f"was read: {found[:3]}"
    if one.wants in KEPT and one.wants not in kinds:
        return f"was not {one.wants}: {found[:3]}"
    if one.says and not any(one.says in why for why in reasons):
        return f"does not say {one.says!r}: {found[:3]}"
    for kind, why in found:
        if kind == "refused" and (len(why) < 10 or NO_REASON.search(why)):
            return f"is no reason: {why!r}"
    return None


def test_the_set_is_large_and_every_input_has_a_name_of_its_own() -> None:
    assert len({one.name for one in everything()}) == len(everything()) >= 1_000
    assert tuple(light()) == ROWS


@pytest.mark.parametrize("row", ROWS)
def test_light_inputs_are_read_or_refused_for_a_reason(row: str, tmp_path: Path) -> None:
    path, marker = tmp_path / "input", tmp_path / "marker"
    complaints = []
    for one in light()[row]:
        path.write_bytes(one.make(str(marker)))
        started = time.process_time()
        found = outcomes(path)
        seconds = time.process_time() - started
        if seconds > SECONDS:
            seconds = spent_s(lambda: outcomes(path), SECONDS)

        if problem := wrong(one, found):
            complaints.append(f"{one.name} {problem}")
        if seconds > SECONDS:
            complaints.append(f"{one.name} took {seconds:.1f} s")
        if marker.exists():
            complaints.append(f"{one.name} RAN ITS CODE")
            marker.unlink()
    assert complaints == []


@pytest.mark.parametrize(
    "row", ["code", "hash", "memo", "length", "nesting", "integer", "stack"]
)  # fmt: skip
def test_a_refused_pickle_names_the_byte(row: str, tmp_path: Path) -> None:
    path = tmp_path / "input"
    nameless = []
    for one in light()[row]:
        data = one.make(str(tmp_path / "marker"))
        if one.wants == "refused" and data[:1] == b"\x80" and data[1:2] in b"\2\3\4\5":
            path.write_bytes(data)
            [(_, why)] = outcomes(path)
            if not re.search(r"\(at byte [\d,]+\)$", why):
                nameless.append(f"{one.name}: {why}")
    assert nameless == []


def test_heavy_inputs_stay_below_a_gigabyte_and_five_seconds(tmp_path: Path) -> None:
    heavy = [one for one in everything() if one.heavy]
    names = tmp_path / "names.json"
    names.write_text(json.dumps([one.name for one in heavy]))
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile.bench", str(names), str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip

    results = {line["name"]: line for line in map(json.loads, done.stdout.splitlines())}
    assert len(results) == len(heavy)
    complaints = []
    for one in heavy:
        result = results[one.name]
        if result["status"]:
            complaints.append(f"{one.name} ended with {result['status']}")
        elif problem := wrong(one, result["found"]):
            complaints.append(f"{one.name} {problem}")
        elif result["seconds"] > SECONDS or result["peak_mib"] > PEAK_MIB:
            took = f"{result['seconds']:.1f} s, {result['peak_mib']} MiB"
            complaints.append(f"{one.name} took {took}")
    peak = max(results.values(), key=lambda one: one.get("peak_mib", 0))
    slowest = max(results.values(), key=lambda one: one.get("seconds", 0))
    print(f"peak {peak['peak_mib']} MiB: {peak['name']}")
    print(f"slowest {slowest['seconds']:.2f} s: {slowest['name']}")
    assert complaints == []
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("oddity", ODDITIES, ids=lambda one: one.__name__)
def test_what_is_no_plain_file_is_refused_and_not_opened(oddity, tmp_path: Path) -> None:
    path = oddity(tmp_path)
    if oddity.__name__ == "unreadable" and os.access(path, os.R_OK):
        pytest.skip("root reads everything")

    inputs = find_inputs([tmp_path])

    refused = {one.artifact: one.why for one in inputs.refused}
    for file in inputs.files:
        for kind, why in outcomes_of(file):
            assert kind == "refused"
            refused[file.artifact] = why
    [why] = refused.values()
    assert len(why) > 10
    assert all(name.isprintable() or "\n" in name for name in refused)


def outcomes_of(file: InputFile) -> list[tuple[str, str]]:
    if file.size_bytes > 1 << 30:
        assert spent_s(lambda: outcomes(file.path), SECONDS) < SECONDS
    return outcomes(file.path)


# The whole set through the command, beside a good job.


@pytest.fixture(scope="module")
def incident(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight good dumps, and every input that has to be refused, named as dumps are."""
    folder = tmp_path_factory.mktemp("incident")
    for rank in range(8):
        shutil.copy(GOOD / f"comm_lib_trace_rank_{rank}", folder)
    marker = folder.parent / "marker"
    bad = folder / "bad"
    bad.mkdir()
    for number, one in enumerate(
        one for one in everything() if one.wants == "refused" and not one.heavy
    ):
        (bad / f"comm_lib_trace_rank_{2000 + number}").write_bytes(one.make(str(marker)))
    for oddity in ODDITIES:
        if oddity.__name__ != "unreadable":
            oddity(bad)
    return folder


def triage(*arguments: str) -> tuple[subprocess.CompletedProcess[str], float, int]:
    """The command, its seconds, and its peak memory in MiB."""
    code = (
        "import resource, subprocess, sys\n"
        "status = subprocess.run(sys.argv[1:]).returncode\n"
        "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10\n"
        "print(peak, file=sys.stderr)\n"
        "sys.exit(status if status >= 0 else 99)\n"
    )
    command = [sys.executable, "-m", "triage.cli.main", *arguments]
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *command],
        cwd=ROOT, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    peak = int(done.stderr.splitlines()[-1])
    return done, time.perf_counter() - started, peak


Answered = tuple[subprocess.CompletedProcess[str], float, int]


@pytest.fixture(scope="module")
def answered(incident: Path) -> Answered:
    """What the command makes of all of them."""
    return triage("analyze", str(incident), "--format", "json")


def test_the_command_answers_as_if_the_hostile_files_were_not_there(
    incident: Path, answered: Answered
) -> None:
    alone = incident.parent / "alone"
    alone.mkdir()
    for rank in range(8):
        shutil.copy(incident / f"comm_lib_trace_rank_{rank}", alone)
    calm, _, _ = triage("analyze", str(alone), "--format", "json")

    done, seconds, peak = answered

    assert done.returncode == 0, done.stderr[-2000:]
    answer, wanted = json.loads(done.stdout), json.loads(calm.stdout)
    assert answer["verdict"] == wanted["verdict"]
    assert answer["suspects"] == wanted["suspects"]
    assert answer["coverage"]["dumps_read"] == 8
    assert peak < PEAK_MIB
    assert "Traceback" not in done.stderr
    assert not (incident.parent / "marker").exists()
    print(f"{len(answer['coverage']['unreadable'])} refused in {seconds:.1f} s, {peak} MiB")


def test_the_command_lists_every_file_it_refused_with_the_reason(
    incident: Path, answered: Answered
) -> None:
    done, _, _ = answered

    coverage = json.loads(done.stdout)["coverage"]
    listed = {one["artifact"]: one["why"] for one in coverage["unreadable"]}
    heads = {}
    for path in sorted((incident / "bad").iterdir()):
        if path.is_file() and path.stat().st_size < 1 << 30:
            heads[str(path.relative_to(incident))] = path.read_bytes()[:4]
    silent = [
        name
        for name, head in heads.items()
        if head[:1] == b"\x80" and name.isascii() and name.isprintable() and name not in listed
    ]
    assert silent == []
    assert all(len(why) > 10 for why in listed.values())
