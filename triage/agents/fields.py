"""Fields: parts of the service's wire forms as parts of answers, every foreign string guarded."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from triage.agents import shapes
from triage.agents.quotes import Quotes
from triage.domain.category import Action
from triage.domain.counts import count
from triage.domain.restart import RestartDecision

Wire = Mapping[str, Any]

_MAX_RANKS: Final = 8
_MAX_NAMES: Final = 8
_MAX_GPUS: Final = 4
_MAX_WANTED: Final = 5
# The first time-out and what went before or after it: reasons are quoted beside them.
_MAX_SEEN: Final = 2

_ACTIONS: Final[Mapping[str, str]] = {
    Action.NONE: "No node needs anything.",
    Action.RESTART_JOB: "Restart the job; no node has to leave the pool.",
    Action.FIX_CODE: "Fix the code, or what it depends on, before the next start.",
    Action.RESET_GPU: "Have a person reset the GPU of the first suspect.",
    Action.REBOOT_NODE: "Have a person reboot the first suspect.",
    Action.DRAIN_NODE: "Have a person drain the nodes under cordon.",
    Action.CHECK_NETWORK: "Have links, NICs and switch ports of the suspects checked.",
    Action.CHECK_STORAGE: "Have the file system and the checkpoint store checked.",
    Action.INVESTIGATE: "Have a person look at the first suspect; the evidence says where.",
}
_RESTARTS: Final[Mapping[str, str]] = {
    RestartDecision.RESTART: "Restart decision: start the job again.",
    RestartDecision.RESTART_WITHOUT: "Restart decision: start it without the excluded nodes.",
    RestartDecision.STOP: "Restart decision: do not start it before somebody has fixed it.",
    RestartDecision.WAIT: "Restart decision: wait until what it depends on is back.",
}


def convert_incident(wire: Wire, quotes: Quotes) -> shapes.Incident:
    """``GET /v1/incidents/{id}``."""
    resolution = wire.get("resolution")
    cluster = wire.get("cluster")
    return shapes.Incident(
        id=wire["id"],
        job_id=quotes.name(wire["job_id"]),
        cluster=None if cluster is None else quotes.name(cluster),
        state=wire["state"],
        revision=wire["revision"],
        provisional=wire["provisional"],
        resolved_as=None if resolution is None else resolution["category"],
    )


def convert_verdict(wire: Wire, quotes: Quotes) -> shapes.Verdict:
    """``verdict`` of a report; its own sentence names nodes and errors, and is quoted."""
    quotes.text(wire["summary"], "the verdict in words")
    return shapes.Verdict(
        kind=wire["kind"],
        category=wire["category"],
        confidence=round(wire["confidence"], 2),
        action=wire["action"],
        cordon=[quotes.name(node) for node in wire["cordon"][:_MAX_NAMES]],
        at=wire["at"],
    )


def convert_suspect(wire: Wire, quotes: Quotes) -> shapes.Suspect:
    """One of ``suspects`` of a report."""
    return shapes.Suspect(
        position=wire["position"],
        node=None if wire["node"] is None else quotes.name(wire["node"]),
        ranks=wire["ranks"][:_MAX_RANKS],
        num_ranks=len(wire["ranks"]),
        gpus=[quotes.path(gpu) for gpu in wire["gpus"][:_MAX_GPUS]],
        category=wire["category"],
        confidence=round(wire["score"], 2),
        role=wire["role"],
        action=wire["action"],
    )


def read_restart(wire: Wire | None, quotes: Quotes) -> shapes.Restart | None:
    """``restart`` of a report, where it has one; its reason names nodes, and is quoted."""
    if wire is None:
        return None
    quotes.text(wire["why"], "why the restart decision is so")
    return shapes.Restart(
        decision=wire["decision"],
        exclude=[quotes.name(node) for node in wire["exclude"][:_MAX_NAMES]],
        retries_left=wire["retries_left"],
    )


def convert_seen_first(wire: Sequence[Wire], quotes: Quotes) -> list[shapes.SeenFirst]:
    """The first of ``symptoms`` of a report."""
    return [
        shapes.SeenFirst(
            rank=one["rank"],
            node=None if one["node"] is None else quotes.name(one["node"]),
            op=None if one["op"] is None else quotes.path(one["op"]),
            seq_id=one["seq_id"],
            pg=None if one["pg"] is None else quotes.path(one["pg"]),
            num_ranks=one["num_ranks"],
            artifact=None if one["artifact"] is None else quotes.path(one["artifact"]),
            line=one["line"],
            at=one["at"],
            quote=quotes.text(one["text"], "what was seen first"),
        )
        for one in wire[:_MAX_SEEN]
    ]


def collect_evidence_reasons(
    suspects: Sequence[Wire], most: int, quotes: Quotes
) -> list[shapes.Evidence]:
    """The first reasons of suspects, those of the best first; each once."""
    reasons = [(one["node"], reason) for one in suspects for reason in one["because"]]
    return [
        shapes.Evidence(
            suspect=None if node is None else quotes.name(node),
            detector=quotes.path(reason["detector"]),
            artifact=None if reason["artifact"] is None else quotes.path(reason["artifact"]),
            line=reason["line"],
            at=reason["at"],
            quote=quotes.text(reason["text"], "a reason, with words of logs"),
        )
        for node, reason in reasons[:most]
    ]


def convert_coverage(wire: Wire | None) -> shapes.Coverage | None:
    """``coverage`` of a report, counted."""
    if wire is None:
        return None
    return shapes.Coverage(
        ranks_expected=wire["ranks_expected"],
        dumps_read=wire["dumps_read"],
        ranks_without_dump=len(wire["ranks_without_dump"]),
        files_partial=len(wire["partial"]),
        files_unreadable=len(wire["unreadable"]),
        lines_read=wire["lines_read"],
        lines_not_understood=wire["lines_not_understood"],
    )


def convert_wanted(wire: Sequence[Wire], quotes: Quotes) -> list[shapes.Wanted]:
    """``wanted`` of a report or an incident."""
    return [
        shapes.Wanted(
            kind=one["kind"],
            node=None if one["node"] is None else quotes.name(one["node"]),
            rank=one["rank"],
        )
        for one in wire[:_MAX_WANTED]
    ]


def list_unknowns(coverage: shapes.Coverage | None, wanted: Sequence[Wire]) -> list[str]:
    """What the answer does not rest on, in sentences."""
    if coverage is None:
        return ["Nothing has been read yet."]
    sentences = []
    if coverage.dumps_read == 0:
        sentences.append(
            "No flight-recorder dump was read: which rank waited for which is not known."
        )
    elif coverage.ranks_without_dump:
        sentences.append(f"Without a dump: {count(coverage.ranks_without_dump, 'rank')}.")
    if coverage.lines_read == 0:
        sentences.append("No line of a log was read: a cause that only logs tell is not known.")
    missing = sum(one["kind"] == "kernel_log" for one in wanted)
    if missing:
        sentences.append(f"No kernel log was read of {count(missing, 'suspected node')}.")
    unread = coverage.files_unreadable + coverage.files_partial
    if unread:
        sentences.append(f"Not read, or only in part: {count(unread, 'file')}.")
    if coverage.ranks_expected is None:
        sentences.append("How many ranks the job has is not known.")
    return sentences


def compose_next_step(
    verdict: shapes.Verdict | None,
    restart: shapes.Restart | None,
    *,
    provisional: bool,
    named: bool,
) -> str:
    """The next step of an answer about a job."""
    if verdict is None:
        return "Ask again in half a minute: there is no verdict yet."
    step = _ACTIONS.get(verdict.action, "Have a person look at the report.")
    if verdict.action == Action.INVESTIGATE and not named:
        step = "Nobody is named: bring more files, or have a person look at the report."
    again = "" if restart is None else _RESTARTS.get(restart.decision, "")
    later = "The answer may still change: ask again before acting." if provisional else ""
    return " ".join(filter(None, (step, again, later)))
