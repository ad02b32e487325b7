"""The stream of RAS's events: of each process the last one counts."""

import json

import pytest

from triage.domain.live.process import ReplyKind
from triage.errors import ArtifactError
from triage.parsers.live.ras.report_json import is_ras_monitor, parse_monitor

WHO = "Process 51306 on node 10.20.0.12 managing GPU 5"
UNRESPONSIVE = f"[2026-03-14 02:39:58] PEER_UNRESPONSIVE: {WHO} peer not responding for 5s\n"
DEAD = f"[2026-03-14 02:41:13] PEER_DEAD: {WHO} \n"
RETRY = f"[2026-03-14 02:41:20] PEER_RETRY: {WHO} attempting reconnect\n"
BACK = f"[2026-03-14 02:41:30] PEER_RECOVERED: {WHO} \n"
ADDRESS = "[2026-03-14 02:41:31] PEER_CONNECTING: 10.20.0.14<43371> \n"


def as_json(event: str, time: str = "2026-03-14 02:41:13") -> str:
    peer = {"host": "10.20.0.12", "pid": 51306, "cuda_devs": [5], "nvml_devs": [5]}
    values = {"timestamp": time, "group": "TRACE", "event": event, "peer": peer, "details": "x"}
    return json.dumps(values, indent=2)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (UNRESPONSIVE, ReplyKind.SILENT),
        (UNRESPONSIVE + DEAD, ReplyKind.UNREACHABLE),
        (UNRESPONSIVE + DEAD + RETRY, ReplyKind.UNREACHABLE),
        (DEAD + BACK, ReplyKind.ANSWERED),
        (as_json("PEER_UNRESPONSIVE") + as_json("PEER_DEAD"), ReplyKind.UNREACHABLE),
        ("OK\n" + DEAD + ADDRESS, ReplyKind.UNREACHABLE),
    ],
)
def test_the_last_event_of_a_process_counts(text: str, kind: ReplyKind) -> None:
    (look,) = parse_monitor(text, "monitor")

    (reply,) = look.replies
    assert reply.kind is kind
    assert (reply.process.host, reply.process.pid, reply.process.gpu) == ("10.20.0.12", 51306, 5)


def test_the_look_is_of_the_time_of_the_last_event() -> None:
    (look,) = parse_monitor(UNRESPONSIVE + DEAD, "monitor")

    assert look.stamp.wall_ns == 1_773_456_073 * 10**9


def test_a_stream_that_breaks_off_keeps_its_events() -> None:
    (look,) = parse_monitor(as_json("PEER_DEAD") + '{"timestamp": "20', "monitor")

    assert len(look.replies) == 1


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        (DEAD, True),
        (as_json("PEER_NEW"), True),
        ("OK\n" + as_json("PEER_NEW"), True),
        ("[2026-03-14 02:41:13] INFO: step 3\n", False),
        ('{"event": "PEER_REVIEWED", "id": 3}', False),
        ("[2026-03-14 02:41:13] step 3\n" + DEAD, False),
    ],
)
def test_a_stream_is_known_by_its_first_event(text: str, ours: bool) -> None:
    assert is_ras_monitor(text) is ours


@pytest.mark.parametrize("text", ["", "{", "nothing", "[" * 1_000_000])
def test_text_without_events_is_refused(text: str) -> None:
    with pytest.raises(ArtifactError):
        parse_monitor(text, "x")


def test_a_peer_with_values_of_other_types_is_nobody() -> None:
    text = as_json("PEER_DEAD").replace("51306", '"51306"')

    (look,) = parse_monitor(text, "monitor")

    assert look.replies == ()
