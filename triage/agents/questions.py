"""Questions: what each tool asks of the service, and its answer."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from triage.agents import shapes
from triage.agents.asking import Asker
from triage.agents.quotes import MAX_QUOTES, Quotes
from triage.domain.category import Action
from triage.domain.counts import count
from triage.domain.report_wire import answer_of_report as answer_in
from triage.domain.restart import RestartDecision
from triage.errors import NotFound
from triage.render.words.next_step import build_next_step

Wire = Mapping[str, Any]

_MAX_REASONS: Final = 4
_MAX_ROWS: Final = 5
_SOURCES: Final = {
    "dumps": "all dumps", "kernel_logs": "all kernel logs", "job_logs": "all job logs",
    "measured": "telemetry and checks", "node_logs": "the logs of the first suspect's node",
    "root_words": "the words of its root lines",
}  # fmt: skip
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


async def what_stopped_this_job(ask: Asker, asked: shapes.OfJob) -> shapes.JobAnswer:
    """The newest answer about a failure. Raises :class:`triage.errors.TriageError`."""
    incident = await _find_asked_incident(ask, asked)
    return answer_of_report(await _fetch_report(ask, incident), Quotes(), incident)


def answer_of_report(
    report: Wire | None,
    quotes: Quotes,
    incident: Wire | None = None,
    hangs_on: Sequence[Wire] = (),
) -> shapes.JobAnswer:
    """A report (None before the first verdict) and its incident, where it is of one."""
    known = report or {}
    return shapes.JobAnswer.model_validate(
        {
            **known,
            "summary": _compose_summary(report, incident),
            "next_step": _compose_next_step(report, incident),
            "not_known": _list_unknowns(known.get("coverage"), known.get("wanted", ())),
            "incident": incident,
            "evidence": _list_reasons(known.get("suspects", ()))[:_MAX_REASONS],
            "commands": list(_iterate_safe_commands(known)),
            "hangs_on": [
                {**one, "without": _SOURCES.get(one["source"], "another source")}
                for one in hangs_on
            ],
        },
        context=quotes,
    )


async def why_is_this_node_suspected(ask: Asker, asked: shapes.OfIncident) -> shapes.NodeReasons:
    """The reasons for one node of an answer."""
    incident = await _find_asked_incident(ask, asked)
    report = await _fetch_report(ask, incident) or {}
    suspects = report.get("suspects", ())
    place = next((k for k, one in enumerate(suspects) if one["node"] == asked.node), None)
    if place is None:
        fields: dict[str, Any] = {
            "summary": "The node is no suspect of this incident.",
            "next_step": "Ask what stopped the job: the answer names the suspects.",
            "not_known": _list_unknowns(report.get("coverage"), ()),
        }
    else:
        one, rest = suspects[place], suspects[place + 1 :]
        reasons = _list_reasons([one])[:MAX_QUOTES]
        earlier = [it for it in incident.get("repeats", ()) if it["node"] == asked.node]
        files = len({it["artifact"] for it in reasons} - {None})
        again = ""
        if earlier:
            again = f" It was convicted in {count(len(earlier), 'earlier incident')}."
        wanted = [it for it in incident.get("wanted", ()) if it["node"] == asked.node]
        fields = {
            "summary": (
                f"The node is suspect {one['position']} ({one['role']}) for {one['category']},"
                f" confidence {one['score']:.2f}, by {count(len(reasons), 'reason')} out of"
                f" {count(files, 'file')}.{again}"
            ),
            "next_step": (
                "Read the cited lines in the files themselves before acting;"
                " ask what would change the answer where the confidence is below 0.9."
            ),
            "not_known": _list_unknowns(report["coverage"], wanted),
            "suspect": one,
            "before_next": round(one["score"] - rest[0]["score"], 2) if rest else None,
            "evidence": reasons,
            "earlier": earlier,
        }
    fields |= {"incident": incident, "node": asked.node}
    return shapes.NodeReasons.model_validate(fields, context=Quotes())


async def what_would_change_the_answer(ask: Asker, asked: shapes.OfJob) -> shapes.Changes:
    """What is missing, and how close the next place is."""
    incident = await _find_asked_incident(ask, asked)
    report = await _fetch_report(ask, incident) or {}
    first, second = (*report.get("suspects", ())[:2], None, None)[:2]
    wanted = incident.get("wanted", ())
    lead = "there is no second place"
    if first and second:
        behind = round(first["score"], 2) - round(second["score"], 2)
        lead = f"the next place is {behind:.2f} behind"
    if incident["provisional"]:
        step = "Wait: files still come in; ask again in half a minute."
    elif wanted:
        step = "Collect the wanted files (`triage collect` sends them): the answer is made anew."
    else:
        step = "No file is known that would change it; a person can resolve the incident."
    return shapes.Changes.model_validate(
        {
            **report,
            "summary": f"Wanted: {count(len(wanted), 'file')}; {lead}.",
            "next_step": step,
            "not_known": _list_unknowns(report.get("coverage"), wanted),
            "incident": incident,
            "first": first,
            "next": second,
            "wanted": wanted,
        },
        context=Quotes(),
    )


async def what_else_happened_to_this_node(ask: Asker, asked: shapes.OfNode) -> shapes.NodeHistory:
    """Its incidents and errors over the whole record."""
    wire = await ask.get(f"/v1/nodes/{quote(asked.node, safe='')}")
    rate, probation = wire["rate"], wire.get("probation") is not None
    beside = "" if rate["ratio"] is None else f", {rate['ratio']:.1f} times the mean of the fleet"
    return shapes.NodeHistory.model_validate(
        {
            **wire,
            "node": asked.node,
            "on_probation": probation,
            "summary": (
                f"The node was the culprit in {count(rate['incidents'], 'incident')} of the last"
                f" {rate['window_days']} days{beside}; in all,"
                f" {count(len(wire['incidents']), 'incident')} and"
                f" {count(len(wire['errors']), 'distinct error')} are of it."
            ),
            "next_step": (
                "It is on probation after a repair: have it checked before it takes a job."
                if probation
                else "Compare its errors with the incident: a part that fails again is likelier."
            ),
            "not_known": [
                "Errors are those of logs that were sent with incidents, not of all its logs."
            ],
        },
        context=Quotes(),
    )


async def fleet_summary(ask: Asker, asked: shapes.OfFleet) -> shapes.FleetSummary:
    """How often jobs stop, by what, and which nodes stand out."""
    since = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(days=asked.days)
    query = {"since": since.isoformat(), "cluster": asked.cluster, "top": _MAX_ROWS}
    wire = await ask.get("/v1/fleet", query)
    stops, mtti = wire["stops"], wire["mtti"]
    nodes = wire["standings"]["nodes"][:_MAX_ROWS]
    often = "no estimate of the time between them"
    if mtti["value"] is not None:
        often = f"{mtti['value']:.1f} {mtti['unit']} between them"
    untriaged = stops["unexpected"] - stops["triaged"]
    return shapes.FleetSummary.model_validate(
        {
            **wire,
            "summary": (
                f"{count(stops['unexpected'], 'unexpected stop')} in {asked.days} days, {often};"
                f" nodes that stand out: {len(nodes)}."
            ),
            "next_step": (
                "Ask what else happened to the worst node."
                if nodes
                else "No node stands out: ask about single jobs."
            ),
            "not_known": [f"{untriaged} of the stops have no cause."] if untriaged > 0 else [],
        },
        context=Quotes(),
    )


def _compose_summary(report: Wire | None, incident: Wire | None) -> str:
    """``hang by host_stall, confidence 0.95; first suspect: culprit, 1 rank from 5`` and so on."""
    if report is None:
        return f"No verdict yet; the incident is {incident['state'] if incident else 'empty'}."
    verdict = report["verdict"]
    parts = [f"{verdict['kind']} by {verdict['category']}, confidence {verdict['confidence']:.2f}"]
    for first in report["suspects"][:1]:
        nowhere, ranks = "" if first["node"] else ", of no known node", first["ranks"]
        of = f", {count(len(ranks), 'rank')} from {ranks[0]}" if ranks else ""
        parts.append(f"first suspect: {first['role']}{nowhere}{of}")
    if verdict["cordon"]:
        parts.append(f"nodes under cordon: {len(verdict['cordon'])}")
    if report.get("restart"):
        parts.append(f"restart decision: {report['restart']['decision']}")
    return f"{'; '.join(parts)}."


def _compose_next_step(report: Wire | None, incident: Wire | None) -> str:
    """The next step of an answer about a job."""
    if report is None:
        return "Ask again in half a minute: there is no verdict yet."
    action, restart = report["verdict"]["action"], report.get("restart")
    step = _ACTIONS.get(action, "Have a person look at the report.")
    if action == Action.INVESTIGATE and not report["suspects"]:
        step = "Nobody is named: bring more files, or have a person look at the report."
    again = _RESTARTS.get(restart["decision"], "") if restart else ""
    later = ""
    if incident is not None and incident["provisional"]:
        later = "The answer may still change: ask again before acting."
    return " ".join(filter(None, (step, again, later)))


def _list_unknowns(coverage: Wire | None, wanted: Sequence[Wire]) -> list[str]:
    """What the answer does not rest on, in sentences."""
    if coverage is None:
        return ["Nothing has been read yet."]
    sentences = []
    if coverage["dumps_read"] == 0:
        sentences.append(
            "No flight-recorder dump was read: which rank waited for which is not known."
        )
    elif coverage["ranks_without_dump"]:
        num = len(coverage["ranks_without_dump"])
        sentences.append(f"Without a dump: {count(num, 'rank')}.")
    if coverage["lines_read"] == 0:
        sentences.append("No line of a log was read: a cause that only logs tell is not known.")
    missing = sum(one["kind"] == "kernel_log" for one in wanted)
    if missing:
        sentences.append(f"No kernel log was read of {count(missing, 'suspected node')}.")
    unread = len(coverage["unreadable"]) + len(coverage["partial"])
    if unread:
        sentences.append(f"Not read, or only in part: {count(unread, 'file')}.")
    if coverage["ranks_expected"] is None:
        sentences.append("How many ranks the job has is not known.")
    return sentences


def _list_reasons(suspects: Sequence[Wire]) -> list[dict[str, Any]]:
    """The reasons of suspects, those of the best first."""
    return [{**reason, "suspect": one["node"]} for one in suspects for reason in one["because"]]


def _iterate_safe_commands(report: Wire) -> Iterator[dict[str, str]]:
    """What to type, made anew without a name of the report: ``NODE`` is the first suspect's node
    and ``JOB`` the job.
    """
    if not report:
        return
    suspects = [
        {**one, "node": "NODE" if one["node"] else None, "gpus": [], "because": []}
        for one in report["suspects"]
    ]
    verdict = {**report["verdict"], "cordon": ["NODE"] if report["verdict"]["cordon"] else []}
    known = {"schema": report["schema"], "job": {**report["job"], "job_id": "JOB"}}
    answer = answer_in({**known, "verdict": verdict, "suspects": suspects})
    for one in build_next_step(answer).commands:
        yield {"where": one.where, "command": one.command, "why": one.why}


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
