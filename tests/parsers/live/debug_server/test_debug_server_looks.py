"""PyTorch's debug server: files, pages, stores and single answers."""

import pytest

from tests.support.stack_texts import LOADER, faulthandler_text, py_spy_text, server_file
from triage.domain.live.look import Look, Tool, WaitCounter
from triage.domain.live.process import Process, ReplyKind
from triage.errors import Corrupt
from triage.parsers.live.debug_server import (
    page_looks,
    read_counter_answer,
    read_debug_file,
    read_refusal_answer,
    store_looks,
)

OWN = "Current thread 0x00007f0000009000 (most recent call first):\n  <no Python frame>\n\n"


def look_at(handler: str, bodies: list[str], head: str = "", name: str = "x.txt") -> Look:
    (look,) = read_debug_file(head + server_file(handler, bodies), name)
    return look


def test_stacks_have_rank_host_and_line() -> None:
    look = look_at("dump_traceback", [OWN + faulthandler_text(), OWN + faulthandler_text(LOADER)])

    assert look.tool is Tool.FAULTHANDLER
    assert {one.process for one in look.stacks} == {
        Process(rank=0, host="gpu-n01"),
        Process(rank=1, host="gpu-n01"),
    }
    mains = [one for one in look.stacks if one.is_main]
    assert [(one.process.rank, one.frames[0].function) for one in mains] == [
        (0, "all_reduce"), (1, "get"),
    ]  # fmt: skip
    assert mains[0].line == 9


def test_py_spy_adds_the_pid() -> None:
    look = look_at("pyspy_dump", [py_spy_text(4100)])

    assert look.stacks[0].process == Process(
        rank=0, host="gpu-n01", pid=4100, command="python pretrain.py"
    )


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (408, ReplyKind.SILENT),
        (503, ReplyKind.UNREACHABLE),
        (404, ReplyKind.TOOL_FAILED),
        (500, ReplyKind.TOOL_FAILED),
        (502, ReplyKind.TOOL_FAILED),
    ],
)
def test_a_failure_says_what_it_says_of_the_rank(status: int, kind: ReplyKind) -> None:
    head = "PARTIAL DATA: 1/2 workers responded\n  Rank 1: TimeoutError: \n\n"
    look = look_at("dump_traceback", [faulthandler_text(), f"Error: {status}"], head)

    assert [(one.process.rank, one.handler, one.kind) for one in look.replies] == [
        (0, "dump_traceback", ReplyKind.ANSWERED), (1, "dump_traceback", kind),
    ]  # fmt: skip
    assert look.replies[1].detail == "TimeoutError:"


def test_the_time_is_in_the_name() -> None:
    look = look_at("dump_traceback", [OWN], name="dumps/stacks_20260314_024210.txt")

    assert (look.stamp.wall_ns, look.stamp.zone_s) == (1773456130 * 10**9, None)
    assert look.stacks[0].process.rank == 0


def test_wait_counters_are_values_of_each_rank() -> None:
    body = (
        '{"pytorch.wait_counter.TCPStore__wait": {"active_count": 1, "max_time_us": 15,'
        ' "total_calls": 6, "total_time_us": 40}}'
    )
    look = look_at("wait_counter_values", [body, "{broken"])

    assert look.counters == (WaitCounter(Process(rank=0, host="gpu-n01"), "TCPStore__wait", 1, 6),)
    assert look.tool is Tool.WAIT_COUNTERS


@pytest.mark.parametrize(
    ("body", "detail"),
    [('{"healthy": true}', "healthy"), ('{"healthy": false}', "unhealthy"), ('{"healthy": [', "")],
)
def test_a_health_check_says_so(body: str, detail: str) -> None:
    assert look_at("torchcomms_health_check", [body]).replies[0].detail == detail


def page(body: str) -> str:
    return (
        "<!doctype html>\n<head><script>var x = '<h2>Rank</h2>';</script></head>\n"
        "<h1>Torch Distributed Debug Server</h1>\n"
        f"<h2>Rank 0: http://gpu-n01:41701/handler/dump_traceback?</h2>\n<pre>{body}</pre>\n"
        "<h2>Rank 1: http://gpu-n01:41702/handler/dump_traceback?</h2>\n"
        "<p>Failed to fetch: status=404</p>\n<pre>Handler dump_traceback not found</pre>\n"
    )


@pytest.mark.parametrize("escaped", [False, True])
def test_a_page_holds_bodies_as_they_are_or_as_a_browser_saved_them(escaped: bool) -> None:
    body = OWN + faulthandler_text()
    if escaped:
        body = body.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    (look,) = page_looks(page(body), "stacks.html")

    assert [one.frames[-1].function for one in look.stacks] == [
        "<no Python frame>", "_bootstrap", "<module>",
    ]  # fmt: skip
    assert [(one.process.rank, one.kind) for one in look.replies] == [
        (0, ReplyKind.ANSWERED), (1, ReplyKind.TOOL_FAILED),
    ]  # fmt: skip
    assert look.replies[1].detail == "Handler dump_traceback not found"


def test_a_page_that_breaks_off_gives_what_it_has() -> None:
    text = page(OWN + faulthandler_text())
    (look,) = page_looks(text[: text.index("<module>")], "stacks.html")

    assert len(look.stacks) == 3


def test_a_store_says_who_sits_where() -> None:
    text = (
        "debug_server/rank1: b'http://gpu-n02:46249'\ndebug_server/rank0: b'http://[fd00::7]:41701'\n"
        "default_pg/0//1//cpu//0/0: b'\\x02http://gpu-n09'\n"
    )
    (look,) = store_looks(text, "tcpstore_20260314_024210.txt")

    assert look.processes == (Process(rank=0, host="fd00::7"), Process(rank=1, host="gpu-n02"))
    assert look.stamp.wall_ns is not None


def test_single_answers_take_the_rank_from_the_name() -> None:
    counters = '{"pytorch.wait_counter.a":{"active_count":0,"total_calls":2}}'
    (look,) = read_counter_answer(counters, "handlers/wait_counter_values_rank_3.json")
    (refusal,) = read_refusal_answer(
        "Handler a_b not found: no such thing", "handlers/a_b_rank_2.txt"
    )

    assert (look.counters[0].process.rank, look.counters[0].calls) == (3, 2)
    assert [(one.process.rank, one.handler, one.kind) for one in refusal.replies] == [
        (2, "a_b", ReplyKind.TOOL_FAILED)
    ]


def test_json_that_is_none_is_refused() -> None:
    with pytest.raises(Corrupt):
        read_counter_answer('{"pytorch.wait_counter.a":{"active_count":' + "[" * 100_000, "x.json")


def test_a_hundred_thousand_sections_are_read_in_one_pass() -> None:
    text = server_file("dump_traceback", ["Error: 408"] * 100_000)

    assert len(read_debug_file(text, "stacks.txt")[0].replies) == 100_000
