"""Questions: what each tool asks of the service, and its answer."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import quote

from triage.agents import shapes
from triage.agents.asking import Asker
from triage.agents.fields import (
    Wire,
    collect_evidence_reasons,
    compose_next_step,
    convert_coverage,
    convert_incident,
    convert_seen_first,
    convert_suspect,
    convert_verdict,
    convert_wanted,
    list_unknowns,
    read_restart,
)
from triage.agents.quotes import MAX_QUOTES, Quotes
from triage.domain.counts import count
from triage.domain.report_wire import answer_of_report as answer_in
from triage.errors import NotFound
from triage.render.words.next_step import build_next_step

_MAX_SUSPECTS: Final = 3
_MAX_REASONS: Final = 4
_MAX_ROWS: Final = 5
_SOURCES: Final = {
    "dumps": "all dumps", "kernel_logs": "all kernel logs", "job_logs": "all job logs",
    "measured": "telemetry and checks", "node_logs": "the logs of the first suspect's node",
    "root_words": "the words of its root lines",
}  # fmt: skip


async def what_stopped_this_job(ask: Asker, asked: shapes.OfJob) -> shapes.JobAnswer:
    """The newest answer about a failure. Raises :class:`triage.errors.TriageError`."""
    wire = await _find_asked_incident(ask, asked)
    report = await _fetch_report(ask, wire)
    return answer_of_report(report, Quotes(), wire)


def answer_of_report(
    report: Wire | None, quotes: Quotes, wire: Wire | None = None, hangs_on: Sequence[Wire] = ()
) -> shapes.JobAnswer:
    """A report (None before the first verdict) and its incident, where it is of one."""
    incident = None if wire is None else convert_incident(wire, quotes)
    suspects = [] if report is None else report["suspects"]
    wanted = () if report is None else report.get("wanted", ())
    verdict = None if report is None else convert_verdict(report["verdict"], quotes)
    restart = None if report is None else read_restart(report.get("restart"), quotes)
    coverage = convert_coverage(None if report is None else report["coverage"])
    shown = [convert_suspect(one, quotes) for one in suspects[:_MAX_SUSPECTS]]
    seen = [] if report is None else convert_seen_first(report.get("symptoms", ()), quotes)
    return shapes.JobAnswer(
        summary=_compose_summary(verdict, shown, restart, incident),
        next_step=compose_next_step(
            verdict,
            restart,
            provisional=incident is not None and incident.provisional,
            named=bool(shown),
        ),
        not_known=list_unknowns(coverage, wanted),
        incident=incident,
        verdict=verdict,
        suspects=shown,
        restart=restart,
        seen_first=seen,
        evidence=collect_evidence_reasons(suspects, _MAX_REASONS, quotes),
        coverage=coverage,
        commands=_list_safe_commands(report),
        hangs_on=[
            shapes.Dependence(
                without=_SOURCES.get(one["source"], "another source"),
                outcome=one["outcome"],
                category=one["category"],
                confidence=round(one["confidence"], 2),
            )
            for one in hangs_on
        ],
        untrusted_log_text=quotes.shown(),
    )


def _list_safe_commands(report: Wire | None) -> list[shapes.Command]:
    """What to type, made anew without a name of the report: ``NODE`` is the first suspect's node
    and ``JOB`` the job.
    """
    if report is None:
        return []
    suspects = [
        {**one, "node": "NODE" if one["node"] else None, "gpus": [], "because": []}
        for one in report["suspects"]
    ]
    verdict = {**report["verdict"], "cordon": ["NODE"] if report["verdict"]["cordon"] else []}
    known = {"schema": report["schema"], "job": {**report["job"], "job_id": "JOB"}}
    answer = answer_in({**known, "verdict": verdict, "suspects": suspects})
    return [
        shapes.Command(where=one.where, command=one.command, why=one.why)
        for one in build_next_step(answer).commands
    ]


def _compose_summary(
    verdict: shapes.Verdict | None,
    suspects: list[shapes.Suspect],
    restart: shapes.Restart | None,
    incident: shapes.Incident | None,
) -> str:
    """``hang by host_stall, confidence 0.95; first suspect: culprit, 1 rank from 5`` and so on."""
    if verdict is None:
        return f"No verdict yet; the incident is {incident.state if incident else 'empty'}."
    parts = [f"{verdict.kind} by {verdict.category}, confidence {verdict.confidence:.2f}"]
    if suspects:
        first = suspects[0]
        nowhere = "" if first.node else ", of no known node"
        ranks = f", {count(first.num_ranks, 'rank')} from {first.ranks[0]}" if first.ranks else ""
        parts.append(f"first suspect: {first.role}{nowhere}{ranks}")
    if verdict.cordon:
        parts.append(f"nodes under cordon: {len(verdict.cordon)}")
    if restart is not None:
        parts.append(f"restart decision: {restart.decision}")
    return f"{'; '.join(parts)}."


async def why_is_this_node_suspected(ask: Asker, asked: shapes.OfIncident) -> shapes.NodeReasons:
    """The reasons for one node of an answer."""
    wire = await _find_asked_incident(ask, asked)
    report = await _fetch_report(ask, wire)
    quotes = Quotes()
    suspects = [] if report is None else report["suspects"]
    places = [index for index, one in enumerate(suspects) if one["node"] == asked.node]
    incident, node = convert_incident(wire, quotes), quotes.name(asked.node)
    if not places:
        return shapes.NodeReasons(
            summary="The node is no suspect of this incident.",
            next_step="Ask what stopped the job: the answer names the suspects.",
            not_known=list_unknowns(convert_coverage(report and report["coverage"]), ()),
            incident=incident, node=node, suspect=None, before_next=None, evidence=[], earlier=[],
            untrusted_log_text=quotes.shown(),
        )  # fmt: skip
    place = places[0]
    suspect = convert_suspect(suspects[place], quotes)
    rest = suspects[place + 1 :]
    before = round(suspects[place]["score"] - rest[0]["score"], 2) if rest else None
    reasons = collect_evidence_reasons([suspects[place]], MAX_QUOTES, quotes)
    of_node = [one for one in wire.get("repeats", ()) if one["node"] == asked.node]
    earlier = [
        shapes.Repeat(incident_id=one["incident_id"], node=node, at=one["at"])
        for one in of_node[:_MAX_ROWS]
    ]
    files = len({one.artifact for one in reasons} - {None})
    again = f" It was convicted in {count(len(of_node), 'earlier incident')}." if of_node else ""
    return shapes.NodeReasons(
        summary=(
            f"The node is suspect {suspect.position} ({suspect.role}) for {suspect.category},"
            f" confidence {suspect.confidence:.2f}, by {count(len(reasons), 'reason')} out of"
            f" {count(files, 'file')}.{again}"
        ),
        next_step=(
            "Read the cited lines in the files themselves before acting;"
            " ask what would change the answer where the confidence is below 0.9."
        ),
        not_known=list_unknowns(
            convert_coverage(report and report["coverage"]),
            [one for one in wire.get("wanted", ()) if one["node"] == asked.node],
        ),
        incident=incident,
        node=node,
        suspect=suspect,
        before_next=before,
        evidence=reasons,
        earlier=earlier,
        untrusted_log_text=quotes.shown(),
    )


async def what_would_change_the_answer(ask: Asker, asked: shapes.OfJob) -> shapes.Changes:
    """What is missing, and how close the next place is."""
    wire = await _find_asked_incident(ask, asked)
    report = await _fetch_report(ask, wire)
    quotes = Quotes()
    incident = convert_incident(wire, quotes)
    verdict = None if report is None else convert_verdict(report["verdict"], quotes)
    shown = [
        convert_suspect(one, quotes) for one in ([] if report is None else report["suspects"][:2])
    ]
    first, second = (*shown, None, None)[:2]
    asked_for = wire.get("wanted", ())
    wanted = convert_wanted(asked_for, quotes)
    coverage = convert_coverage(None if report is None else report["coverage"])
    lead = f"the next place is {first.confidence - second.confidence:.2f} behind" if (
        first and second) else "there is no second place"  # fmt: skip
    if incident.provisional:
        step = "Wait: files still come in; ask again in half a minute."
    elif wanted:
        step = "Collect the wanted files (`triage collect` sends them): the answer is made anew."
    else:
        step = "No file is known that would change it; a person can resolve the incident."
    return shapes.Changes(
        summary=f"Wanted: {count(len(asked_for), 'file')}; {lead}.",
        next_step=step,
        not_known=list_unknowns(coverage, asked_for),
        incident=incident,
        verdict=verdict,
        first=first,
        next=second,
        wanted=wanted,
        coverage=coverage,
        untrusted_log_text=quotes.shown(),
    )


async def what_else_happened_to_this_node(ask: Asker, asked: shapes.OfNode) -> shapes.NodeHistory:
    """Its incidents and errors over the whole record."""
    wire = await ask.get(f"/v1/nodes/{quote(asked.node, safe='')}")
    quotes = Quotes()
    node, rate = quotes.name(asked.node), wire["rate"]
    num, days = rate["incidents"], rate["window_days"]
    beside = "" if rate["ratio"] is None else f", {rate['ratio']:.1f} times the mean of the fleet"
    probation = wire.get("probation") is not None
    return shapes.NodeHistory(
        summary=(
            f"The node was the culprit in {count(num, 'incident')} of the last {days} days{beside};"
            f" in all, {count(len(wire['incidents']), 'incident')} and"
            f" {count(len(wire['errors']), 'distinct error')} are of it."
        ),
        next_step=(
            "It is on probation after a repair: have it checked before it takes a job."
            if probation
            else "Compare its errors with the incident: a part that fails again is likelier."
        ),
        not_known=["Errors are those of logs that were sent with incidents, not of all its logs."],
        node=node,
        last_seen_at=wire["last_seen_at"],
        window_days=days,
        culprit_in=num,
        times_fleet_mean=None if rate["ratio"] is None else round(rate["ratio"], 2),
        incidents=[
            shapes.NodeIncident(
                incident_id=one["incident_id"],
                at=one["created_at"],
                role=one["role"],
                category=one["category"],
                confidence=round(one["score"], 2),
                resolved_as=one["resolved_as"],
            )
            for one in wire["incidents"][:_MAX_ROWS]
        ],
        errors=[
            shapes.NodeError(
                signature=quotes.path(one["signature"]),
                code=one["code"],
                category=one["category"],
                count=one["count"],
                incidents=one["incidents"],
                last_at=one["last_at"],
            )
            for one in wire["errors"][:_MAX_ROWS]
        ],
        num_parts=len(wire["parts"]),
        on_probation=probation,
        untrusted_log_text=quotes.shown(),
    )


async def fleet_summary(ask: Asker, asked: shapes.OfFleet) -> shapes.FleetSummary:
    """How often jobs stop, by what, and which nodes stand out."""
    since = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(days=asked.days)
    query = {"since": since.isoformat(), "cluster": asked.cluster, "top": _MAX_ROWS}
    wire = await ask.get("/v1/fleet", query)
    quotes = Quotes()
    stops, mtti = wire["stops"], wire["mtti"]
    nodes = wire["standings"]["nodes"][:_MAX_ROWS]
    often = "no estimate of the time between them"
    if mtti["value"] is not None:
        often = f"{mtti['value']:.1f} {mtti['unit']} between them"
    cluster = wire["cluster"]
    return shapes.FleetSummary(
        summary=(
            f"{count(stops['unexpected'], 'unexpected stop')} in {asked.days} days, {often};"
            f" nodes that stand out: {len(nodes)}."
        ),
        next_step=(
            "Ask what else happened to the worst node."
            if nodes
            else "No node stands out: ask about single jobs."
        ),
        not_known=[f"{stops['unexpected'] - stops['triaged']} of the stops have no cause."]
        if stops["unexpected"] > stops["triaged"]
        else [],
        since=wire["since"],
        until=wire["until"],
        cluster=None if cluster is None else quotes.name(cluster),
        unexpected_stops=stops["unexpected"],
        planned_stops=stops["planned"],
        mtti=shapes.Figure(**{key: mtti[key] for key in shapes.Figure.model_fields}),
        causes=[
            shapes.ShareOfCause(
                category=one["category"] or "untriaged",
                count=one["count"],
                share=one["share"]["value"],
            )
            for one in wire["causes"][:_MAX_ROWS]
        ],
        worst_nodes=[
            shapes.NodeStanding(node=quotes.name(one["node"]), grade=one["grade"]) for one in nodes
        ],
        untrusted_log_text=quotes.shown(),
    )


async def _find_asked_incident(ask: Asker, asked: shapes.OfJob) -> Wire:
    """The incident that is meant: by its id, else the newest of the job."""
    known = asked.incident_id
    if known is None:
        query = {"job_id": asked.job_id, "cluster": asked.cluster, "limit": 1}
        newest = (await ask.get("/v1/incidents", query))["items"]
        if not newest:
            raise NotFound("no incident of this job")
        known = newest[0]["id"]
    return await ask.get(f"/v1/incidents/{quote(known, safe='')}")


async def _fetch_report(ask: Asker, incident: Wire) -> Wire | None:
    """Its report; None before the first verdict."""
    if incident["verdict"] is None:
        return None
    return await ask.get(f"/v1/incidents/{quote(incident['id'], safe='')}/report")
