"""Records of a field a line, tables of tickets, and tables of times by node as lines of a log."""

import json

import pytest

from triage.formats.format import Head
from triage.formats.logs.controller_lists import EVENT_TABLE
from triage.formats.logs.documents import convert_document_to_lines
from triage.formats.logs.field_blocks import FIELD_BLOCKS
from triage.formats.logs.json_document import JSON_DOCUMENT
from triage.formats.logs.peer_table import PEER_TABLE
from triage.parsers.logs.envelope import read_envelope

ICINGA = """***** Icinga 2 Service Monitoring on mon1 *****

==> {service} on {node} is {state}! <==

Info?    {info}

When?    2026-03-17 19:09:19 -0400
Service? {service}
Host?    {node}

"""
ZABBIX = """{head} at 09:46:52 on 2026.05.22
Problem name: {name}
Host: {node}
Severity: High
Original problem ID: 5638907

"""


def lines_of(text: str) -> list[str]:
    assert FIELD_BLOCKS.claims(Head(text.encode()))
    return [
        line for line in (convert_document_to_lines(text, FIELD_BLOCKS) or "").split("\n") if line
    ]


def test_a_notice_of_a_monitor_is_one_line_of_its_node_and_time() -> None:
    text = ICINGA.format(service="nodediag", node="n7", state="CRITICAL", info="GPU 3 is lost") * 2

    assert [json.loads(line) for line in lines_of(text)] == [
        {"time": "2026-03-17 19:09:19 -0400", "node": "n7", "message": "nodediag: GPU 3 is lost"}
    ] * 2


def test_what_has_ended_is_no_line() -> None:
    began = ZABBIX.format(head="Problem started", name="GPU 5 lost", node="n7")
    ended = ZABBIX.format(head="Resolved in 9m", name="GPU 5 lost", node="n7")

    assert [json.loads(line) for line in lines_of(began + ended)] == [
        {"time": "2026-05-22 09:46:52", "node": "n7", "message": "GPU 5 lost"}
    ]


def test_an_event_of_a_controller_is_a_row_of_its_list() -> None:
    text = "".join(
        f"[n{k}] Event {k}:\n  Created: 2026-01-16T21:47:26Z\n  Severity: Critical\n"
        "  Class: Environment\n  Message: System Fan Failure (Fan 4)\n"
        for k in (7, 8)
    )

    assert lines_of(text)[0] == (
        "n7: 1 | 01/16/2026 | 21:47:26 UTC |  | System Fan Failure (Fan 4) | Asserted |"
        " severity critical"
    )


@pytest.mark.parametrize(
    "text",
    [
        "name: job\nnodes: 4\nhost: n1\nmessage: hello\n",
        "Host: n1\nUser: ops\n\nHost: n2\nUser: ops\n",
        "2026-01-01 00:00:00 step: 1\n" * 9,
    ],
)
def test_settings_and_logs_are_no_records(text: str) -> None:
    assert not FIELD_BLOCKS.claims(Head(text.encode()))


TICKETS = """"number","opened_at","short_description","cmdb_ci","state","close_notes"
"INC01","26-09-2025 02:45:27","n7: PSU2 input lost","n7","Closed","Cord reseated,
redundancy regained."
"INC02","13-10-2025 02:17:35","n8: fan tray degraded","n8","Work in Progress",""
"""


def test_a_closed_ticket_says_nothing_and_an_open_one_when_and_of_what() -> None:
    assert EVENT_TABLE.claims(Head(TICKETS.encode()))
    text = convert_document_to_lines(TICKETS, EVENT_TABLE) or ""
    closed, still_open = [read_envelope(line) for line in text.split("\n") if line]

    assert closed.text == ""
    assert (still_open.node, still_open.text) == ("n8", "n8: fan tray degraded")
    assert still_open.stamp.wall_ns == 1_760_321_855_000_000_000


def table(slow: str, factor: float, moments: int = 3) -> str:
    rows = ["time,node,compute_s_p50,exposed_comm_s_p50"]
    for minute in range(moments):
        for k in range(4):
            longer = factor if f"n{k}" == slow else 1.0
            rows.append(f"2026-05-06T03:{minute:02}:00Z,n{k},{5.9 * longer + k / 100:.3f},8.2")
    return "\n".join(rows) + "\n"


def odd_lines(text: str) -> list[str]:
    return [
        line for line in (convert_document_to_lines(text, PEER_TABLE) or "").split("\n") if line
    ]


def test_the_node_whose_step_takes_longer_again_and_again_is_a_line() -> None:
    text = table("n2", 2.0)

    assert PEER_TABLE.claims(Head(text.encode()))
    (line,) = odd_lines(text)
    assert json.loads(line) == {
        "time": "2026-05-06T03:02:00Z",
        "node": "n2",
        "message": "step times by node: compute_s_p50 of n2 11.82, median of all nodes 5.92",
    }


def test_alike_nodes_and_one_long_step_are_none() -> None:
    once = table("n2", 1.0, 7) + table("n2", 2.0, 1).partition("\n")[2].replace("03:00", "03:07")

    assert odd_lines(table("n2", 1.2)) == []
    assert odd_lines(once) == []


def test_who_waits_long_is_not_slow() -> None:
    text = table("n2", 2.0).replace("compute_s_p50", "wait_for_data_s")

    assert odd_lines(text) == []


def test_columns_in_blanks_are_named_by_the_heading() -> None:
    rows = "".join(
        f"n{k}   10.1   {9000 if k == 3 else 1500}   2987.5   5325.5\n" for k in range(5)
    )
    head = "== 2026-03-17 14:28:14 step timers, per node (ms):  host  data  fwd-compute  wait\n"

    (line,) = odd_lines(head + rows)
    assert "n3" in json.loads(line)["node"]


WIDE = "step,fwd_s.rank0,fwd_s.rank1,fwd_s.rank2,fwd_s.rank3\n" + "".join(
    f"{step},0.71,0.72,1.30,0.70\n" for step in range(900, 960, 20)
)
LONG = "run_uuid,key,value,timestamp,step\n" + "".join(
    f"5f21c0,kernel_time_ms/rank_{rank:03},{967.6 if rank == 9 else 724.0},1743172678000,{step}\n"
    for step in (40, 60)
    for rank in range(24)
)
SCORES = "NVRx straggler report  step 5313\nGPU relative performance:\n" + "".join(
    f"  Rank={rank} Node=n{rank // 8} Score={0.58 if rank // 8 == 1 else 0.97}\n"
    for rank in range(32)
)
CLOCKS = "host,gpu,sm_clock_mhz,power_w,throttle_reasons\n" + "".join(
    f"n{k},{gpu},{'345,203,hw_power_brake_slowdown' if k == 2 else '1980,655,none'}\n"
    for k in range(4)
    for gpu in range(8)
)
LINKS = "gpu  H2D GB/s  D2H GB/s  gen  width\n" + "".join(
    f"# n{k}\n"
    + "".join(
        f"{g}  {'6.4  6.3  1  x2' if (k, g) == (1, 3) else '54.1  53.8  5  x16'}\n"
        for g in range(8)
    )
    for k in range(2)
)


@pytest.mark.parametrize(
    ("text", "node", "says"),
    [
        (WIDE, None, "step times by rank: fwd_s of rank 2 1.3, median of all ranks 0.715"),
        (LONG, None, "step times by rank: kernel_time_ms of rank 9 967.6, median of all ranks 724"),
        (SCORES, "n1", "work done by node: Score of n1 0.58, median of all nodes 0.97"),
        (
            CLOCKS,
            "n2",
            "clocks by node: sm_clock_mhz of n2 345, median of all nodes 1980"
            " (hw_power_brake_slowdown)",
        ),
        (LINKS, "n1", "links by node: D2H_GB/s of n1 6.3, median of all nodes 53.8"),
    ],
)
def test_whoever_stands_apart_among_its_peers_is_a_line(
    text: str, node: str | None, says: str
) -> None:
    assert PEER_TABLE.claims(Head(text.encode()))
    (line,) = odd_lines(text)
    record = json.loads(line)

    assert (record.get("node"), record["message"]) == (node, says)


@pytest.mark.parametrize(
    "text",
    [
        WIDE.replace("1.30", "0.73"),
        SCORES.replace("0.58", "0.94"),
        CLOCKS.replace("345", "1965"),
        CLOCKS.replace("1980", "345"),
        LINKS.replace("6.4  6.3  1  x2", "54.4  53.3  5  x16"),
        LONG.replace("kernel_time_ms", "time_in_barrier_ms"),
        LONG.replace("kernel_time_ms", "gpu_temp_c"),
    ],
)
def test_nobody_is_where_all_are_alike_or_nothing_tells_who_is_slow(text: str) -> None:
    assert odd_lines(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "".join(
            f"level=info rank={k} step=100 loss=2.5 tokens_per_s=900 msg=moved\n" for k in range(9)
        ),
        "".join(f"step={k} loss=2.5 grad_norm=0.3\n" for k in range(9)),
        "".join(f"[rank{k}]: step {k} | loss: 2.5 | {k + 0.5} ms\n" for k in range(9)),
        "index, name, uuid\n" + "".join(f"{k}, H100, GPU-{k}\n" for k in range(8)),
    ],
)
def test_what_ranks_print_is_no_table_of_them(text: str) -> None:
    assert not PEER_TABLE.claims(Head(text.encode()))


def test_a_table_of_memory_is_no_table_of_times() -> None:
    text = "time,node,used_gb,free_gb\n" + "".join(
        f"2026-05-06T03:00:00Z,n{k},{10 * k},5\n" for k in range(4)
    )

    assert not PEER_TABLE.claims(Head(text.encode()))


GRAFANA = (
    '"labels","Time","Line","tsNs","id"\n'
    '"{""pod"": ""llm-0"", ""node_name"": ""n7""}","2026-07-18 18:57:28.396",'
    '"[rank3]: lost","1","a"\n'
)


def test_grafana_s_export_keeps_the_labels_of_a_line() -> None:
    assert EVENT_TABLE.claims(Head(GRAFANA.encode()))
    (line,) = [
        one for one in (convert_document_to_lines(GRAFANA, EVENT_TABLE) or "").split("\n") if one
    ]
    envelope = read_envelope(line)

    assert (envelope.node, envelope.rank, envelope.text) == ("n7", 3, "lost")


NOTICES = {
    "compute engine": {
        "operationType": "compute.instances.hostError",
        "insertTime": "2026-08-20T15:37:27Z",
        "user": "system@google.com",
        "description": "Host lost the output of PSU 4.",
        "targetLinks": ["https://compute.example/v1/projects/ml/zones/a/instances/n7"],
    },
    "resource health": {
        "properties": {
            "title": "Processor fault",
            "summary": "Host lost the output of PSU 4.",
            "impactStartTime": "2026-08-20T15:37:27Z",
            "impact": [{"impactedResource": "n7"}],
        }
    },
    "health": {
        "successfulSet": [
            {
                "event": {"startTime": "2026-08-20T15:37:27Z", "statusCode": "open"},
                "eventDescription": {"latestDescription": "Host lost the output of PSU 4."},
                "affectedEntities": [{"tags": {"private-dns-name": "n7"}}],
            }
        ]
    },
}


@pytest.mark.parametrize("provider", NOTICES)
def test_a_provider_s_notice_is_of_the_machine_that_it_names_in_its_depth(provider: str) -> None:
    text = json.dumps(NOTICES[provider], indent=2)
    assert JSON_DOCUMENT.claims(Head(text.encode()))
    (line,) = [
        one for one in (convert_document_to_lines(text, JSON_DOCUMENT) or "").split("\n") if one
    ]

    assert (json.loads(line)["node"], json.loads(line)["time"]) == ("n7", "2026-08-20T15:37:27Z")
    assert "n7: " in json.loads(line)["message"]
    assert "Host lost the output of PSU 4." in json.loads(line)["message"]


def test_a_record_with_its_host_beside_its_words_stays_as_it_is() -> None:
    record = {
        "title": "GPU health", "host": "n7", "start_time": "2026-08-20T15:37:27Z",
        "message": "GPU 3 is lost", "severity": "critical",
    }  # fmt: skip
    text = json.dumps([record], indent=2)
    (line,) = [
        one for one in (convert_document_to_lines(text, JSON_DOCUMENT) or "").split("\n") if one
    ]

    assert json.loads(line) == record


def test_a_redfish_log_of_several_hosts_is_read_by_host() -> None:
    entry = {
        "EntryType": "Event", "Created": "2026-01-29T08:44:22Z", "Severity": "Critical",
        "Message": "Power supply PSU2 failed.", "MessageId": "Platform.1.0.PowerSupplyFailure",
    }  # fmt: skip
    text = json.dumps([{"Host": host, "Members": [entry]} for host in ("n7", "n8")], indent=1)
    lines = [
        one for one in (convert_document_to_lines(text, JSON_DOCUMENT) or "").split("\n") if one
    ]

    assert [line.partition(":")[0] for line in lines] == ["n7", "n8"]
