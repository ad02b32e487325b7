"""The text of RAS: whom it lists, who is ahead, and what it leaves unsaid."""

import pytest

from tests.parsers.live.ras.reports import text_report
from triage.domain.live.communicator import Presence
from triage.domain.live.process import Process, ReplyKind
from triage.errors import ArtifactError
from triage.parsers.live.ras.report_text import is_ras_text, parse_text

BEHIND = """#0-0 (00aa4f19d2a87be3) MISMATCH
  Communicator ranks have different AllReduce operation counts
  15 ranks have launched up to operation 912
  Rank 6 has launched up to operation 911 -- GPU 2 (NVML 6) managed by process 7006 on node 10.1.0.2

  Communicator ranks have different Broadcast operation counts
  14 ranks have launched up to operation 4
  2 ranks have not launched any operations
  Rank 6 -- GPU 2 (NVML 6) managed by process 7006 on node 10.1.0.2
  Rank 7 [process information not found]
"""
AHEAD = """#0-0 (0c) MISMATCH
  Communicator ranks have different AllReduce operation counts
  13 ranks have launched up to operation 911
  3 ranks have launched up to operation 912
  Rank 3 -- GPU 3 managed by process 7003 on node 10.1.0.1
  Rank 9 -- GPU 1 managed by process 7009 on node 10.1.0.3
  Rank 10 -- GPU 2 managed by process 7010 on node 10.1.0.3
"""
DEAD = """DEAD
  2 job processes are considered dead (unreachable via the RAS network)
  Process 7006 on node 10.1.0.2 managing GPU 2
  Process 7007 on node 10.1.0.2 managing GPUs 3,4

#0-0 (0c) INCOMPLETE
  Missing communicator data from 2 ranks
  Rank 6 -- GPU 2 managed by process 7006 on node 10.1.0.2
  Rank 9 -- GPU 1 managed by process 7009 on node 10.1.0.3
"""


def test_reads_the_counts_of_listed_ranks_and_of_the_rest() -> None:
    (look,) = parse_text(text_report(warnings=BEHIND), "ras.txt")

    (communicator,) = look.communicators
    assert (communicator.hash, communicator.size) == (0xAA4F19D2A87BE3, 16)
    assert [(one.rank, one.launched) for one in communicator.ranks] == [
        (6, {"allreduce": 911, "broadcast": 0}),
        (7, {"broadcast": 0}),
    ]
    assert communicator.ranks[0].process == Process(host="10.1.0.2", pid=7006, gpu=2, nvml_gpu=6)
    assert communicator.ranks[1].process == Process()
    assert communicator.rest is not None
    assert communicator.rest.launched == {"allreduce": 912, "broadcast": 4}
    assert (look.num_gpus, look.per_node, look.partial) == (16, 4, None)


def test_the_listed_ranks_may_be_the_ones_ahead() -> None:
    (look,) = parse_text(text_report(warnings=AHEAD), "ras.txt")

    (communicator,) = look.communicators
    assert [one.launched for one in communicator.ranks] == [{"allreduce": 912}] * 3
    assert communicator.rest is not None
    assert communicator.rest.launched == {"allreduce": 911}
    assert look.notes == (
        "communicator 000000000000000c: 13 ranks are behind and RAS does not list them (what it"
        " lists is ahead): ask for JSON, or verbosely",
    )


def test_of_several_groups_that_are_not_listed_the_least_is_what_the_rest_reached() -> None:
    split = AHEAD.replace("13 ranks", "7 ranks").replace(
        "  3 ranks", "  6 ranks have launched up to operation 910\n  3 ranks"
    )

    (look,) = parse_text(text_report(warnings=split), "ras.txt")

    assert look.communicators[0].rest is not None
    assert look.communicators[0].rest.launched == {"allreduce": 910}


def test_a_dead_process_is_told_from_one_that_lacks_a_communicator() -> None:
    (look,) = parse_text(text_report(errors=DEAD), "ras.txt")

    assert [(one.process.pid, one.process.gpu, one.kind) for one in look.replies] == [
        (7006, 2, ReplyKind.UNREACHABLE),
        (7007, None, ReplyKind.UNREACHABLE),
    ]
    assert [(one.rank, one.presence) for one in look.communicators[0].ranks] == [
        (6, Presence.DEAD),
        (9, Presence.MISSING),
    ]


def test_an_old_release_names_the_missing_rank_alone() -> None:
    errors = """INCOMPLETE
  Missing communicator data from 1 job process
  Process 7018 on node 10.1.0.5 managing GPU 2

#0-0 (cf264af53edbe986) INCOMPLETE
  Missing communicator data from 1 rank
  The missing rank: 18
"""
    counts = """#0-0 (cf264af53edbe986) MISMATCH
  Communicator ranks have different collective operation counts
  30 ranks have launched up to operation 6650
  Rank 4 has launched up to operation 6649 -- GPU 0 managed by process 7004 on node 10.1.0.2
"""
    report = text_report(errors=errors, warnings=counts, size=32, version="2.24.3+cuda12.6")

    (look,) = parse_text(report, "ras.txt")

    behind, missing = look.communicators[0].ranks
    assert (behind.rank, behind.launched) == (4, {"all": 6649})
    assert (missing.rank, missing.presence) == (18, Presence.UNRESPONSIVE)
    assert (missing.process.host, missing.process.pid) == ("10.1.0.5", 7018)


def test_errors_say_who_failed_and_who_only_heard_of_it() -> None:
    errors = """#0-0 (0c) ERROR
  Asynchronous errors on 16 ranks
  15 ranks reported Remote process error
  Rank 13 reported Unhandled CUDA error -- GPU 1 managed by process 7013 on node 10.1.0.4
"""
    (look,) = parse_text(text_report(errors=errors), "ras.txt")

    (failed,) = look.communicators[0].ranks
    assert (failed.error, failed.remote_error) == ("Unhandled CUDA error", False)
    rest = look.communicators[0].rest
    assert rest is not None
    assert rest.remote_error


def test_a_status_that_few_have_is_theirs() -> None:
    warnings = """#0-0 (0c) MISMATCH
  Communicator ranks have different status
  15 ranks have status RUNNING
  Rank 2 has status INIT -- GPU 2 managed by process 7002 on node 10.1.0.1
"""
    (look,) = parse_text(text_report(warnings=warnings), "ras.txt")

    assert look.communicators[0].ranks[0].status == "init"
    assert look.communicators[0].rest is not None
    assert look.communicators[0].rest.status == "running"


def test_several_reports_in_one_file_are_several_looks() -> None:
    report = text_report(warnings=BEHIND)

    looks = parse_text(f"{report}\n{report}", "loop.txt")

    assert len(looks) == 2
    assert looks[0].communicators[0].ranks[0].line < looks[1].communicators[0].ranks[0].line  # type: ignore[operator]


def test_a_report_that_is_cut_says_so_and_keeps_what_it_has() -> None:
    report = text_report(errors=DEAD)

    (look,) = parse_text(report[: report.index("#0-0")], "ras.txt")

    assert look.partial is not None
    assert len(look.replies) == 2


@pytest.mark.parametrize("before", ["", "OK\nSERVER PROTOCOL 2\n", "$ ncclras -v\r\n", "\n\n"])
def test_a_report_is_known_behind_the_lines_of_its_protocol(before: str) -> None:
    assert is_ras_text(before + text_report())


@pytest.mark.parametrize(
    "text",
    [
        "NCCL version 2.29.7+cuda13.0\nstep 1 loss 2.3\n",
        "gpu-n01:1:2 [0] NCCL INFO NCCL version 2.29.7 compiled with CUDA 13.0\n",
        "Job summary\n===========\nall good\n",
        "x\n" * 4000 + text_report(),
    ],
    ids=["a job log", "an info line", "another tool's summary", "a log that quotes one"],
)
def test_is_no_report(text: str) -> None:
    assert not is_ras_text(text)


def test_ranks_that_the_communicator_cannot_have_are_left_out() -> None:
    lies = BEHIND.replace("Rank 6 has", "Rank 99 has").replace("912", "9" * 40)

    (look,) = parse_text(text_report(warnings=lies), "ras.txt")

    assert 99 not in {one.rank for one in look.communicators[0].ranks}
    assert any("contradict" in note for note in look.notes)


def test_one_rank_of_two_processes_is_of_the_first() -> None:
    twice = BEHIND + "\n" + BEHIND.split("\n", 1)[1].replace("7006", "9999")

    (look,) = parse_text(text_report(warnings=twice), "ras.txt")

    assert look.communicators[0].ranks[0].process.pid == 7006


def test_a_line_without_end_is_bounded() -> None:
    (look,) = parse_text(text_report(warnings="#0-0 (0c) " + "MISMATCH " * 400_000), "ras.txt")

    assert look.communicators == () or look.communicators[0].ranks == ()


def test_reports_without_end_are_bounded() -> None:
    looks = parse_text("Job summary\n===\n" * 50_000, "x")

    assert len(looks) == 2_000


def test_text_without_a_report_is_refused() -> None:
    with pytest.raises(ArtifactError):
        parse_text("nothing", "x")
