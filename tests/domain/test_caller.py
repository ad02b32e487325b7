"""What a token's bounds let through, and what they say when they do not."""

import pytest

from triage.domain.caller import NODE_PATTERN, Caller
from triage.errors import NotAllowed

NODES = Caller("key_1", frozenset({"ingest"}), cluster="a", node_pattern="gpu-0[0-4]?")


def test_a_token_without_bounds_gives_no_cluster_and_is_let_through() -> None:
    assert Caller().check("b", job_id="1", nodes=["n"]) == "b"
    assert Caller().check(None) is None
    Caller().check_own("b")


@pytest.mark.parametrize("named", [None, "", "a"])
def test_a_token_gives_its_cluster_to_what_names_none(named: str | None) -> None:
    assert Caller(cluster="a").check(named, job_id="1") == "a"


@pytest.mark.parametrize(
    ("caller", "sent", "words"),
    [
        (Caller(cluster="a"), {"cluster": "b"}, "bound to the cluster 'a'.*the cluster 'b'"),
        (Caller(cluster="a"), {"cluster": "A"}, "the cluster 'A'"),
        (Caller(job_id="1"), {"job_id": "2"}, "bound to the job '1'.*the job '2'"),
        (Caller(job_id="1"), {"job_id": "01"}, "the job '01'"),
        (Caller(job_id="1"), {}, "of no one job"),
        (NODES, {}, "something of whole jobs"),
        (NODES, {"nodes": [None]}, "does not say which node"),
        (NODES, {"nodes": ["gpu-001", "gpu-050"]}, "the node 'gpu-050'"),
        (NODES, {"nodes": ["gpu-001.evil"]}, "the node 'gpu-001.evil'"),
        (NODES, {"nodes": ["GPU-001"]}, "the node 'GPU-001'"),
        (NODES, {"nodes": ["gpu-001\n"]}, "the node"),
    ],
)
def test_what_lies_outside_is_refused_with_the_bound_and_the_next_step(
    caller: Caller, sent: dict[str, object], words: str
) -> None:
    with pytest.raises(NotAllowed, match=words) as refused:
        caller.check(**{"cluster": None, **sent})  # type: ignore[arg-type]
    assert "triage token create" in refused.value.hint


def test_nodes_of_the_pattern_are_let_through() -> None:
    assert NODES.check("a", job_id="1", nodes=["gpu-001", "gpu-049"]) == "a"
    assert NODES.check(None, nodes=[]) == "a"


@pytest.mark.parametrize("cluster", [None, "", "b"])
def test_what_is_of_another_cluster_or_of_none_is_not_its_own(cluster: str | None) -> None:
    Caller(cluster="a").check_own("a")
    with pytest.raises(NotAllowed):
        Caller(cluster="a").check_own(cluster)


@pytest.mark.parametrize(
    ("pattern", "node"), [("gpu-001", "gpu-001"), ("gpu-0*", None), ("n[12]", None), (None, None)]
)
def test_one_node_is_known_by_its_pattern(pattern: str | None, node: str | None) -> None:
    assert Caller(node_pattern=pattern).only_node == node


def test_no_pattern_takes_long() -> None:
    """Backtracking over so many stars would take longer than the universe has."""
    pattern = "*a" * 127 + "b"
    assert NODE_PATTERN.fullmatch(pattern)
    with pytest.raises(NotAllowed):
        Caller(node_pattern=pattern).check(None, nodes=["a" * 256])


@pytest.mark.parametrize(
    ("scopes", "reads"),
    [({"ingest"}, False), ({"read"}, True), ({"admin"}, True), ({"ingest", "read"}, True)],
)
def test_who_reads_may_correct(scopes: set[str], reads: bool) -> None:
    caller = Caller(scopes=frozenset(scopes))
    assert (caller.reads, caller.corrects) == (reads, reads)
