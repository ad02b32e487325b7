"""The units for systemd: what they may do, and that systemd takes them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from triage.settings import FROM_FILES, Settings

ROOT = Path(__file__).resolve().parents[2]
UNITS = sorted((ROOT / "examples" / "systemd").glob("*.service"))
PROGRAM = "/opt/nccl-triage/.venv/bin/triage"
# Points of `systemd-analyze security`, 0 (nothing open) to 10; 2.0 is where it stops to say OK.
MOST_EXPOSED = 2.0
WANTED = {
    "NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "ProtectSystem": "strict",
    "ProtectHome": "yes", "PrivateTmp": "yes", "PrivateDevices": "yes", "UMask": "0077",
    "RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX", "RestrictNamespaces": "yes",
    "SystemCallArchitectures": "native", "User": "triage", "KillMode": "mixed",
}  # fmt: skip

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="no systemd-analyze here"
)


def lines_of(unit: Path) -> dict[str, list[str]]:
    """Each key of a unit with all values that it is given."""
    found: dict[str, list[str]] = {}
    for line in unit.read_text("utf-8").splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def test_there_is_a_unit_for_each_way_to_run_it() -> None:
    assert [unit.name for unit in UNITS] == [
        "triage-scheduler.service", "triage-worker@.service", "triage.service",
    ]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_holds_the_service_to_its_own_folders(unit: Path) -> None:
    lines = lines_of(unit)
    for key, value in WANTED.items():
        assert lines[key] == [value], key
    assert re.fullmatch(r"\d+[MG]", lines["MemoryMax"][0])
    assert int(lines["TasksMax"][0]) <= 512
    writable = set(lines["ReadWritePaths"][0].split())
    assert writable == {"/var/lib/triage", "/var/cache/triage"}
    # Readers confine themselves; a filter without these calls would leave them open.
    allowed = " ".join(lines["SystemCallFilter"]).split()
    assert {"seccomp", "landlock_restrict_self"} <= set(allowed)
    assert int(lines["TimeoutStopSec"][0]) > 30


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_names_settings_that_there_are(unit: Path) -> None:
    for name in re.findall(r"\bTRIAGE_([A-Z0-9_]+)=", unit.read_text("utf-8")):
        field = name.lower()
        assert field in Settings.model_fields or field.removesuffix("_file") in FROM_FILES
    (start,) = lines_of(unit)["ExecStart"]
    assert start.startswith(f"{PROGRAM} ")


@needs_systemd
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_takes_a_unit_and_finds_it_little_exposed(unit: Path, tmp_path: Path) -> None:
    # The program has to be there for `verify`.
    copy = tmp_path / unit.name.replace("@.", "@1.")
    copy.write_text(unit.read_text("utf-8").replace(PROGRAM, "/bin/true"))
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(copy)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    mine = [line for line in verified.stderr.splitlines() if copy.name in line]
    assert (verified.returncode, mine) == (0, [])
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", str(copy)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    level = re.search(r"exposure level for \S+: (\d+\.\d)", judged.stdout)
    assert level, judged.stderr
    assert float(level[1]) <= MOST_EXPOSED
