"""Lines put into logs: in the envelope of their neighbours, at their time."""

import json

import pytest

from simulator.perturb.placing import Line, placed

END_NS = 1_768_466_871_000_000_000  # 2026-01-15 08:47:51


@pytest.mark.parametrize(
    ("log", "program", "line"),
    [
        ("[Thu Jan 15 08:40:51 2026] a\n[Thu Jan 15 08:47:51 2026] b\n", None,
         "[Thu Jan 15 08:42:51 2026] new"),
        ("Jan 15 08:40:51 n1 kernel: a\nJan 15 08:47:51 n1 kernel: b\n", "sshd[12]",
         "Jan 15 08:42:51 n1 sshd[12]: new"),
        ("[  100.000000] a\n[  520.000000] b\n", None, "[  220.000000] new"),
        ("[  100.000000] a\n[  520.000000] b\n", "systemd[1]", "[  220.000000] systemd[1]: new"),
        ("2026-01-15T08:40:51.000000+00:00 n1 kernel: [  100.000000] a\n", None,
         "2026-01-15T08:42:51.000000+00:00 n1 kernel: [  220.000000] new"),
        ("6,7,100000000,-;a\n6,8,520000000,-;b\n", None, "6,8,220000000,-;new"),
    ],
)  # fmt: skip
def test_a_line_stands_in_its_log_as_its_neighbours_do(
    log: str, program: str | None, line: str
) -> None:
    at_ns = END_NS - 300 * 10**9
    made = placed(log.encode(), END_NS).with_lines([Line(at_ns, "new", program)])
    assert made is not None
    assert made.decode().splitlines()[1] == line


def test_records_behind_a_new_one_are_renumbered() -> None:
    made = placed(b"6,7,100000000,-;a\n6,8,520000000,-;b\n", END_NS).with_lines(
        [Line(END_NS - 300 * 10**9, "new")]
    )
    assert made is not None
    assert [line.split(b",")[1] for line in made.splitlines()] == [b"7", b"8", b"9"]


def test_a_line_of_a_journal_in_json_is_json() -> None:
    one = {"__REALTIME_TIMESTAMP": "1768466451000000", "_TRANSPORT": "kernel", "MESSAGE": "a"}
    made = placed(json.dumps(one).encode() + b"\n", END_NS).with_lines([Line(END_NS, 'said "new"')])
    assert made is not None
    assert json.loads(made.splitlines()[1]) == {
        **one, "__REALTIME_TIMESTAMP": "1768466871000000", "MESSAGE": 'said "new"',
    }  # fmt: skip


def test_a_log_without_times_stays_as_it_is() -> None:
    assert placed(b"loss 2.1\nloss 2.0\n", END_NS).with_lines([Line(END_NS, "new")]) is None
