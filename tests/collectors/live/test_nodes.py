"""Other nodes: lists, commands, tars that lie, and one pull from two nodes by a made-up ssh."""

import io
import json
import sys
import tarfile
from pathlib import Path

import pytest

from triage.collectors.live.command import fill, main
from triage.collectors.live.every_node import (
    Reach,
    choose_reach,
    expand_nodes,
    make_remote_command,
    make_srun_command,
)
from triage.collectors.live.folder import PullFolder, extract_files, merge_facts
from triage.collectors.live.options import LiveOptions
from triage.collectors.options import Misuse


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ("n1",)),
        ("n1,n2,n1", ("n1", "n2")),
        ("gpu[008-010,12],a1", ("gpu008", "gpu009", "gpu010", "gpu12", "a1")),
        ("pods/a-0,pods/a-1", ("pods/a-0", "pods/a-1")),
    ],
)
def test_lists_of_nodes(text: str, names: tuple[str, ...]) -> None:
    assert expand_nodes(text) == names


@pytest.mark.parametrize("text", ["-oProxyCommand=x", "n1;id", "n[1-x]", "$(id)", "n[0-999999999]"])
def test_what_is_no_name_of_a_node_is_refused(text: str) -> None:
    with pytest.raises(Misuse):
        expand_nodes(text)


def test_a_hostfile_of_mpi(tmp_path: Path) -> None:
    (tmp_path / "ssh").write_text("#!/bin/sh\n")
    (tmp_path / "ssh").chmod(0o755)
    (tmp_path / "hosts").write_text("# nodes\nn1 slots=8\nn2:8\n\nn1\n")
    reach = choose_reach(LiveOptions(nodes=str(tmp_path / "hosts")), {"PATH": str(tmp_path)})

    assert (reach.how, reach.nodes) == ("ssh", ("n1", "n2"))


def test_ways_that_are_not_known_are_said() -> None:
    with pytest.raises(Misuse, match="--nodes LIST"):
        choose_reach(LiveOptions(all_nodes=True, job="x"), {"PATH": ""})
    with pytest.raises(Misuse, match="unknown to Slurm"):
        choose_reach(LiveOptions(all_nodes=True, via="srun"), {"PATH": ""})


def test_commands_ask_for_no_password_and_join_the_job() -> None:
    ssh = make_remote_command(Reach("ssh", "/bin/ssh", ("n1",)), "me@n1", ("--out", "-"))
    pod = make_remote_command(Reach("kubectl", "/bin/kubectl", ()), "space/pod-0", ("--out", "-"))
    srun = make_srun_command(Reach("srun", "/bin/srun", (), "4711"), "/t/%N.tar", ("--out", "-"))

    assert "BatchMode=yes" in ssh
    assert ssh[-1].endswith("--node n1")
    assert pod[1:6] == ("exec", "-i", "-n", "space", "pod-0")
    assert {"--overlap", "--jobid=4711", "--output=/t/%N.tar"} <= set(srun)


def tar_of(*members: tuple[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, data in members:
            header = tarfile.TarInfo(name)
            header.size = len(data)
            tar.addfile(header, io.BytesIO(data))
        link = tarfile.TarInfo("nodes/n1/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    return made.getvalue()


def test_a_tar_lands_in_its_own_nodes_folder_whatever_it_says(tmp_path: Path) -> None:
    data = tar_of(
        ("job.json", b'{"job_id": "7", "rank_to_node": {"0": "n1"}}'),
        ("nodes/other/look-1/rank_0.txt", b"stack"),
        ("../../../evil", b"x"),
        ("/etc/evil", b"x"),
        ("nodes/n1/large", b"x" * 5000),
    )
    facts = extract_files(io.BytesIO(data), PullFolder(str(tmp_path), "n1", 4000), "n1")

    found = sorted(
        str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()
    )
    assert found == ["nodes/n1/etc/evil", "nodes/n1/evil", "nodes/n1/look-1/rank_0.txt"]
    assert facts["job_id"] == "7"
    assert not [path for path in tmp_path.rglob("*") if path.is_symlink()]


def test_facts_of_nodes_become_one() -> None:
    rows = [
        {"job_id": "7", "world_size": 4, "rank_to_node": {"2": "n2", "3": "n2"}},
        {"job_id": "7", "rank_to_node": {"0": "n1"}},
        {"rank_to_node": "none"},
    ]

    assert merge_facts(rows) == {
        "job_id": "7", "world_size": 4, "rank_to_node": {"0": "n1", "2": "n2", "3": "n2"},
    }  # fmt: skip


def test_nodes_are_pulled_side_by_side_and_one_that_is_away_costs_only_itself(
    start, tmp_path: Path
) -> None:
    """ssh is a script that runs its last word here; node n3 cannot be reached."""
    start(RANK="1", WORLD_SIZE="4", SLURM_JOB_ID="817001")
    (tmp_path / "ssh").write_text(
        "#!/bin/sh\nfor last; do :; done\n"
        'case "$*" in *" n3 "*) echo "ssh: connect to host n3: timed out" >&2; exit 255;; esac\n'
        f'eval "$(echo "$last" | sed "s|^python3|{sys.executable}|")"\n'
    )
    (tmp_path / "ssh").chmod(0o755)
    lines: list[str] = []
    options = LiveOptions(
        job="817001", nodes="n1,n2,n3", via="ssh", budget_s=10.0, looks=1,
        without=("py-spy", "gpu", "ras", "debug-server"),
    )  # fmt: skip
    fill(options, {"PATH": f"{tmp_path}:/usr/bin:/bin"}, str(tmp_path / "out"))

    facts = json.loads((tmp_path / "out" / "job.json").read_text())
    (away,) = (tmp_path / "out").glob("not_reached_*.json")
    assert facts["job_id"] == "817001"
    assert sorted(path.name for path in (tmp_path / "out" / "nodes").iterdir()) == ["n1", "n2"]
    assert "connect to host n3: timed out" in json.loads(away.read_text())["notes"][0]
    assert list((tmp_path / "out" / "nodes" / "n1" / "look-1").glob("rank_1_proc_*"))
    assert not lines


def test_one_node_writes_a_folder(start, tmp_path: Path, capsys) -> None:
    process = start(RANK="1", LOCAL_RANK="1", WORLD_SIZE="2", LOCAL_WORLD_SIZE="2",
                    SLURM_JOB_ID="817002")  # fmt: skip
    out = tmp_path / "out"
    status = main(["--job", "817002", "--out", str(out), "--budget", "4", "--node", "n 3/x",
                   "--without", "gpu"])  # fmt: skip

    assert status == 0
    (node,) = (out / "nodes").iterdir()
    assert sorted(path.name for path in node.iterdir()) == ["look-1", "look-2"]
    (listed,) = (node / "look-2").glob("processes_*.json")
    row = json.loads(listed.read_text())
    assert row["missing"] == [0]
    assert [(one["rank"], one["pid"]) for one in row["ranks"]] == [(1, process.pid)]
    assert "look 2: 1 ranks here" in capsys.readouterr().err
    assert main(["--job", "817002", "--out", str(out)]) == 2
    assert "is not empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give --out DIR"),
        (["--out", "x", "--looks", "0"], "--looks"),
        (["--out", "x", "--budget", "0.1"], "--budget"),
        (["--out", "x", "--without", "gdb"], "--without gdb"),
        (["--send"], "--url"),
        (["--out", "x", "--pid", "1", "--all-nodes"], "--pid"),
    ],
)
def test_wrong_usage_is_one_sentence(arguments, words, capsys) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr().err
    assert words in printed
    assert printed.count("\n") == 1
