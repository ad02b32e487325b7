"""What an answer hangs on: it stands, its place stands, or it falls."""

from pathlib import Path

from triage.analysis.joining.hangs_on import Dependence, Outcome, Source
from triage.report import explain

INCIDENTS = Path(__file__).parents[2] / "incidents"


def hangs(name: str) -> dict[Source, Dependence]:
    told = explain(INCIDENTS / name)
    return {one.source: one for one in told.hangs_on}


def test_a_part_hangs_on_the_kernel_log_and_the_place_does_not() -> None:
    found = hangs("logs-gpu-lost-with-dumps-w8/files")
    assert found[Source.DUMPS].outcome is Outcome.STANDS
    for source in (Source.KERNEL_LOGS, Source.NODE_LOGS, Source.ROOT_WORDS):
        assert found[source].outcome is Outcome.PLACE_STANDS
        assert found[source].node == "gpu-0102"
    assert Source.JOB_LOGS not in found


def test_a_traceback_carries_an_answer_and_its_peers_the_place() -> None:
    found = hangs("logs-traceback-w16/files")
    assert Source.DUMPS not in found
    assert found[Source.KERNEL_LOGS].outcome is Outcome.STANDS
    assert found[Source.JOB_LOGS].outcome is Outcome.FALLS
    assert found[Source.JOB_LOGS].node is None
    # In words that nobody knows, it is still the one that all others lost.
    assert found[Source.ROOT_WORDS].outcome is Outcome.PLACE_STANDS
    assert found[Source.ROOT_WORDS].node == "node-13"


def test_dumps_alone_are_not_tried_without_the_dumps() -> None:
    assert not hangs("nccl-never-joins-w8/fr")


def test_the_wire_form_is_plain_values() -> None:
    one = hangs("logs-gpu-lost-with-dumps-w8/files")[Source.DUMPS].to_dict()
    assert one["source"] == "dumps"
    assert one["outcome"] == "stands"
    assert one["node"] == "gpu-0102"
