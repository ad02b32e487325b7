"""The odd node out: new messages of one node become weak evidence, nothing else does."""

import pytest

from triage.analysis.facts.odd_node import find_odd_messages
from triage.analysis.facts.stop import SECOND, Stop
from triage.domain.evidence import Evidence, EvidenceRole, Kind
from triage.parsers.logs.logset import LogFile, LogKind, LogSet, TemplateCount

T = 1_795_230_000 * SECOND
STOP = Stop(T, T + 600 * SECOND, known=True, trouble=True, job_seen=True)
TEXTS = {"boot": "link is up", "new": "foo engine wedged", "all": "task blocked"}


def template(name: str, at_s: float, line: int = 10) -> TemplateCount:
    at = T + int(at_s * SECOND)
    return TemplateCount(name, 1, line, line, at, at)


def logs(own: dict[int, list[TemplateCount]], nodes: int = 8) -> LogSet:
    files = [
        LogFile(
            f"nodes/n{k}/kernel.log", LogKind.KERNEL, f"n{k}",
            templates=(template("boot", -90_000, 1), template("all", 120, 20), *own.get(k, ())),
        )
        for k in range(nodes)
    ]  # fmt: skip
    return LogSet(files=files, templates=TEXTS)


def odd(own, nodes=8, stop=STOP):
    return [(row.node, row.line) for row in find_odd_messages(logs(own, nodes), stop, ())]


def test_a_message_that_one_node_alone_prints_about_the_stop_is_evidence():
    (row,) = find_odd_messages(logs({3: [template("new", -1)]}), STOP, ())
    assert (row.node, row.weak, row.role, row.category) == ("n3", True, EvidenceRole.ROOT, None)
    assert "foo engine wedged" in row.text


def noise(line: int, signature: str = "chatter.audit", at_s: float = -30) -> Evidence:
    """A row of ``n3`` that a signature knows as harmless."""
    at = T + int(at_s * SECOND)
    return Evidence(
        "nodes/n3/kernel.log", line, signature, Kind.KERNEL, EvidenceRole.NOISE, "harmless",
        node="n3", at_ns=at, last_at_ns=at,
    )  # fmt: skip


def test_what_is_known_as_harmless_is_not_odd():
    one = logs({3: [template("new", -1)]})
    assert find_odd_messages(one, STOP, [noise(10)]) == []
    assert find_odd_messages(one, STOP, [noise(11)])
    one.files[3].harmless = frozenset({10})
    assert find_odd_messages(one, STOP, ()) == []


def test_what_a_node_prints_while_it_boots_is_not_odd():
    one = logs({3: [template("new", -1)]})
    assert find_odd_messages(one, STOP, [noise(1, "boot.kernel_version")]) == []
    assert find_odd_messages(one, STOP, [noise(1, "boot.kernel_version", at_s=-500)])


NEAR_MISSES = {
    "it was printed in the healthy stretch too": {3: [template("new", -7000)]},
    "every node prints it": {k: [template("new", k)] for k in range(8)},
    "half of the nodes print something new": {
        k: [template(f"new{k}", 0)] for k in range(4)
    },
}  # fmt: skip


@pytest.mark.parametrize("own", NEAR_MISSES.values(), ids=NEAR_MISSES)
def test_is_silent_when(own):
    assert odd(own) == []


def test_is_silent_among_few_nodes():
    assert odd({3: [template("new", 0)]}, nodes=4) == []


def test_is_silent_where_no_stop_is_known():
    nowhere = Stop(None, None, known=False, trouble=False, job_seen=True)
    assert odd({3: [template("new", 0)]}, stop=nowhere) == []


def test_does_not_depend_on_the_order_of_files():
    one = logs({3: [template("new", -1)], 5: [template("new2", 2)]}, nodes=60)
    other = LogSet(files=one.files[::-1], templates=TEXTS)
    assert find_odd_messages(one, STOP, ()) == find_odd_messages(other, STOP, ())
    assert {row.node for row in find_odd_messages(one, STOP, ())} == {"n3", "n5"}
