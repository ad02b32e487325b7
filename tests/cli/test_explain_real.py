"""triage explain on real files: the terms add up, and the order of paths changes nothing."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from triage.cli.main import main

STOP = datetime(2026, 11, 21, 3, 4, 15, tzinfo=UTC)
NODES = ("n0", "n1")


@pytest.fixture
def incident(tmp_path):
    """A GPU falls off n1's bus; ten minutes later every rank's watchdog gives up."""

    def kernel(node, second, words):
        at = (STOP + timedelta(seconds=second)).isoformat(timespec="microseconds")
        return f"{at} {node} kernel: {words}\n"

    for node in NODES:
        folder = tmp_path / "nodes" / node
        folder.mkdir(parents=True)
        lines = [kernel(node, -60 + i, f"audit: backlog {i}") for i in range(20)]
        if node == "n1":
            xid = "NVRM: Xid (PCI:0000:5d:00): 79, pid=4, GPU has fallen off the bus."
            lines.append(kernel(node, -0.4, xid))
        (folder / "kernel.log").write_text("".join(lines))
    late = STOP + timedelta(seconds=600)
    (tmp_path / "job.log").write_text(
        "".join(
            f"{late:%Y-%m-%d %H:%M:%S},123 [rank{rank}]: Watchdog caught collective operation"
            " timeout: WorkNCCL(SeqNum=812, OpType=ALLREDUCE, NumelIn=1, NumelOut=1,"
            " Timeout(ms)=600000) ran for 600012 milliseconds before timing out.\n"
            for rank in range(16)
            if rank != 11
        )
    )
    job = {"nodes": NODES, "gpus_per_node": 8, "failed_at": late.isoformat()}
    (tmp_path / "job.json").write_text(json.dumps(job))
    return tmp_path


def printed(capfdbinary, *arguments):
    assert main(["explain", *map(str, arguments)]) == 0
    return capfdbinary.readouterr().out


def test_the_terms_add_up_and_the_file_that_decides_is_tried(incident, capfdbinary):
    told = json.loads(printed(capfdbinary, incident, "--format", "json"))
    best = told["places"][0]
    assert (best["node"], best["category"]) == ("n1", "gpu")
    assert told["verdict"]["category"] == "gpu"
    terms = sum(term["log_odds"] for term in best["terms"])
    assert told["bias"] + terms == pytest.approx(best["log_odds"], abs=0.05)
    tried = {one["artifact"]: one["category"] for one in told["without"]}
    assert tried["nodes/n1/kernel.log"] != "gpu"
    assert told["stop"]["end_known"] == "as job.json says"
    assert told["missing"]["dumps"]


@pytest.mark.parametrize("format_", ["text", "json"])
def test_the_order_of_paths_changes_no_byte(format_, incident, capfdbinary):
    paths = [incident / "nodes", incident / "job.log"]
    rest = ["--job", incident / "job.json", "--format", format_]
    first = printed(capfdbinary, *paths, *rest)
    assert printed(capfdbinary, *reversed(paths), *rest) == first
    assert printed(capfdbinary, *paths, *rest) == first


def test_a_report_of_logs_alone_shows_the_time_line(incident, capfdbinary):
    assert main(["analyze", str(incident)]) == 0
    out = capfdbinary.readouterr().out.decode()
    assert "  03:04:14.600 " in out
    assert "n1, xid, gpu\n" in out
    assert "scontrol update nodename=n1 state=drain" in out


def test_nothing_readable_is_2(tmp_path, capfdbinary):
    assert main(["explain", str(tmp_path)]) == 2
    out, err = capfdbinary.readouterr()
    assert out == b""
    assert err.startswith(b"triage: ")


EVIL = (
    "<script>alert(1)</script>\x1b[2J\x1b]0;owned\x07\u202egnp.exe\u2069\x9b31m"
    "</title><img src=x onerror=alert(2)>"
)


@pytest.mark.parametrize(
    ("command", "format_"),
    [
        ("analyze", "text"),
        ("analyze", "json"),
        ("analyze", "html"),
        ("explain", "text"),
        ("explain", "json"),
    ],
)
def test_hostile_lines_are_shown_and_inert(command, format_, incident, capfdbinary):
    log = incident / "nodes" / "n1" / "kernel.log"
    at = (STOP - timedelta(seconds=1)).isoformat(timespec="microseconds")
    xid = f"NVRM: Xid (PCI:0000:3b:00): 79, pid=7, name={EVIL}, GPU has fallen off the bus."
    log.write_text(f"{log.read_text()}{at} n1 kernel: {xid} {'long ' * 2000}\n")
    assert main([command, str(incident), "--format", format_]) == 0
    shown = capfdbinary.readouterr().out.decode()
    assert "0000:3b:00" in shown
    assert not set(shown) & set("\x1b\x07\x9b\u202e\u2069")
    if format_ == "html":
        assert "<script>alert" not in shown
        assert "<img" not in shown
        assert len(shown) < 200_000
    elif format_ == "text":
        assert max(map(len, shown.splitlines())) <= 80
        assert len(shown.splitlines()) < 100
