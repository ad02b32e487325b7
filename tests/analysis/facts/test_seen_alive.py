"""A node on which processes were seen did not fail days, or a start of its driver, before that."""

from datetime import UTC, datetime

import pytest

from triage.analysis.facts.stop import DAY_S, SECOND, Stop
from triage.domain.evidence import Evidence, EvidenceRole, Kind

SEEN_NS = int(datetime(2026, 11, 20, 9, tzinfo=UTC).timestamp()) * SECOND
HOUR_NS = 3600 * SECOND


def is_over(age_ns: int, *, loaded: bool, node: str = "n1") -> bool:
    """Whether an Xid so long before the look at n1 is of another life; the driver was loaded anew
    half that time before the look.
    """
    row = Evidence(
        "kernel.log", 1, "nvidia.xid", Kind.XID, EvidenceRole.ROOT, "", node=node,
        at_ns=SEEN_NS - age_ns,
    )  # fmt: skip
    loads = {node: [SEEN_NS - age_ns // 2]} if loaded else {}
    stop = Stop(
        None, None, known=False, trouble=False, job_seen=True, loads=loads, looked={"n1": SEEN_NS}
    )
    return stop.is_of_another_life(row)


@pytest.mark.parametrize(
    ("age_ns", "loaded", "node", "over"),
    [
        (2 * DAY_S * SECOND, False, "n1", True),
        (6 * HOUR_NS, True, "n1", True),
        (6 * HOUR_NS, False, "n1", False),
        (-HOUR_NS, False, "n1", False),
        (2 * DAY_S * SECOND, False, "n2", False),
        (6 * HOUR_NS, True, "n2", False),
    ],
)
def test_what_a_node_that_was_seen_alive_got_over(
    age_ns: int, node: str, *, loaded: bool, over: bool
) -> None:
    assert is_over(age_ns, loaded=loaded, node=node) == over
