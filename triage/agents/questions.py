"""Questions: what each tool asks of the service, and its answer."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from triage.agents.answers import (
    COVERAGE,
    FEW,
    INCIDENT,
    REASON,
    SUSPECT,
    VERDICT,
    Answer,
    Wire,
    list_nodes,
    show,
    show_first,
    show_if,
)
from triage.agents.asking import Asker
from triage.agents.quotes import MAX_QUOTES, Quotes
from triage.agents.shapes import OfFleet, OfIncident, OfJob, OfNode
from triage.domain.category import Action
from triage.domain.counts import count, format_ordinal
from triage.domain.report_wire import answer_of_report as answer_in
from triage.domain.restart import RestartDecision
from triage.errors import NotFound
from triage.render.words.next_step import build_next_step

_MAX_REASONS: Final = 4
_RESTART: Final = "decision exclude retries_left quote=why"
_SYMPTOM: Final = "rank node op seq_id pg num_ranks artifact line at quote=seen"
_PROBLEM: Final = "id nth count first_seen last_seen"
_ERROR: Final = "signature code category count incidents last_at"
_OF_NODE: Final = "incident_id at=created_at role category confidence=score resolved_as"
_NODE: Final = (
    "last_seen_at window_days=rate.window_days culprit_in=rate.incidents"
    " times_fleet_mean=rate.ratio"
)
_FLEET: Final = "since until cluster unexpected_stops=stops.unexpected planned_stops=stops.planned"
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


async def what_stopped_this_job(ask: Asker, asked: OfJob) -> Answer:
    """The newest answer about a failure. Raises :class:`triage.errors.TriageError`."""
    incident = await _find_asked_incident(ask, asked)
    return answer_of_report(await _fetch_report(ask, incident), Quotes(), incident)


def answer_of_report(
    report: Wire | None,
    quotes: Quotes,
    incident: Wire | None = None,
    hangs_on: Sequence[Wire] = (),
) -> Answer:
    """A report (None before the first verdict) and its incident, where it is of one."""
    known = report or {}
    reasons = _list_reasons(known.get("suspects", ()))
    symptoms = [{**one, "seen": one["text"]} for one in known.get("symptoms", ())]
    fields: dict[str, Any] = {
        "incident": show_if(incident, INCIDENT, quotes),
        "verdict": show_if(known.get("verdict"), VERDICT, quotes),
        "suspects": show_first(known.get("suspects", ()), 3, SUSPECT, quotes),
        "restart": show_if(known.get("restart"), _RESTART, quotes),
        # The first time-out and what went before or after it: reasons are quoted beside them.
        "seen_first": show_first(symptoms, 2, _SYMPTOM, quotes),
        "evidence": show_first(reasons, _MAX_REASONS, REASON, quotes),
        "coverage": show_if(known.get("coverage"), COVERAGE, quotes),
        "commands": list(_iterate_safe_commands(known)),
        "hangs_on": [
            {
                "without": _SOURCES.get(one["source"], "another source"),
                **show(one, "outcome category confidence", quotes),
            }
            for one in hangs_on
        ],
    }
    return Answer(
        _compose_summary(report, incident),
        _compose_next_step(report, incident),
        _list_unknowns(known.get("coverage"), known.get("wanted", ())),
        quotes,
        fields,
        {
            "suspects": list_nodes(*fields["suspects"]),
            "cordon": (fields["verdict"] or {}).get("cordon", []),
        },
    )


async def why_is_this_node_suspected(ask: Asker, asked: OfIncident) -> Answer:
    """The reasons for one node of an answer."""
    incident = await _find_asked_incident(ask, asked)
    report = await _fetch_report(ask, incident) or {}
    suspects = report.get("suspects", ())
    place = next((k for k, one in enumerate(suspects) if one["node"] == asked.node), None)
    one: Wire | None = None
    reasons: list[dict[str, Any]] = []
    before_next = None
    wanted: list[Wire] = []
    summary = "The node is no suspect of this incident."
    step = "Ask what stopped the job: the answer names the suspects."
    if place is not None:
        one, rest = suspects[place], suspects[place + 1 :]
        before_next = round(one["score"] - rest[0]["score"], 2) if rest else None
        reasons = _list_reasons([one])[:MAX_QUOTES]
        problem = incident.get("problem")
        wanted = [it for it in incident.get("wanted", ()) if it["node"] == asked.node]
        files = len({it["artifact"] for it in reasons} - {None})
        again = ""
        if problem is not None and problem["nth"] > 1:
            again = f" It is the {format_ordinal(problem['nth'])} incident of this kind."
        summary = (
            f"The node is suspect {one['position']} ({one['role']}) for {one['category']},"
            f" confidence {one['score']:.2f}, by {count(len(reasons), 'reason')} out of"
            f" {count(files, 'file')}.{again}"
        )
        step = (
            "Read the cited lines in the files themselves before acting;"
            " ask what would change the answer where the confidence is below 0.9."
        )
    quotes = Quotes()
    fields: dict[str, Any] = {
        "node": quotes.name(asked.node),
        "incident": show(incident, INCIDENT, quotes),
        "suspect": show_if(one, SUSPECT, quotes),
        "before_next": before_next,
        "evidence": show_first(reasons, MAX_QUOTES, REASON, quotes),
        "problem": show_if(incident.get("problem"), _PROBLEM, quotes),
    }
    unknowns = _list_unknowns(report.get("coverage"), wanted)
    return Answer(summary, step, unknowns, quotes, fields, {"node": [fields["node"]]})


async def what_would_change_the_answer(ask: Asker, asked: OfJob) -> Answer:
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
    quotes = Quotes()
    fields: dict[str, Any] = {
        "incident": show(incident, INCIDENT, quotes),
        "verdict": show_if(report.get("verdict"), VERDICT, quotes),
        "first": show_if(first, SUSPECT, quotes),
        "next": show_if(second, SUSPECT, quotes),
        "wanted": show_first(wanted, FEW, "kind node rank", quotes),
        "coverage": show_if(report.get("coverage"), COVERAGE, quotes),
    }
    return Answer(
        f"Wanted: {count(len(wanted), 'file')}; {lead}.",
        step,
        _list_unknowns(report.get("coverage"), wanted),
        quotes,
        fields,
        {
            "suspects": list_nodes(fields["first"], fields["next"]),
            "wanted": list_nodes(*fields["wanted"]),
        },
    )


async def what_else_happened_to_this_node(ask: Asker, asked: OfNode) -> Answer:
    """Its incidents and errors over the whole record."""
    wire = await ask.get(f"/v1/nodes/{quote(asked.node, safe='')}")
    rate, probation = wire["rate"], wire.get("probation") is not None
    beside = "" if rate["ratio"] is None else f", {rate['ratio']:.1f} times the mean of the fleet"
    quotes = Quotes()
    fields: dict[str, Any] = {
        "node": quotes.name(asked.node),
        **show(wire, _NODE, quotes),
        "incidents": show_first(wire["incidents"], FEW, _OF_NODE, quotes),
        "errors": show_first(wire["errors"], FEW, _ERROR, quotes),
        "num_parts": len(wire["parts"]),
        "on_probation": probation,
    }
    return Answer(
        f"The node was the culprit in {count(rate['incidents'], 'incident')} of the last"
        f" {rate['window_days']} days{beside}; in all,"
        f" {count(len(wire['incidents']), 'incident')} and"
        f" {count(len(wire['errors']), 'distinct error')} are of it.",
        "It is on probation after a repair: have it checked before it takes a job."
        if probation
        else "Compare its errors with the incident: a part that fails again is likelier.",
        ["Errors are those of logs that were sent with incidents, not of all its logs."],
        quotes,
        fields,
        {"node": [fields["node"]]},
    )


async def fleet_summary(ask: Asker, asked: OfFleet) -> Answer:
    """How often jobs stop, by what, and which nodes stand out."""
    since = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(days=asked.days)
    query = {"since": since.isoformat(), "cluster": asked.cluster, "top": FEW}
    wire = await ask.get("/v1/fleet", query)
    stops, mtti = wire["stops"], wire["mtti"]
    often = "no estimate of the time between them"
    if mtti["value"] is not None:
        often = f"{mtti['value']:.1f} {mtti['unit']} between them"
    untriaged = stops["unexpected"] - stops["triaged"]
    causes = [{**one, "category": one["category"] or "untriaged"} for one in wire["causes"]]
    quotes = Quotes()
    fields: dict[str, Any] = {
        **show(wire, _FLEET, quotes),
        "mtti": show(mtti, "value low high n unit", quotes),
        "causes": show_first(causes, FEW, "category count share=share.value", quotes),
        "worst_nodes": show_first(wire["standings"]["nodes"], FEW, "node grade", quotes),
    }
    worst = list_nodes(*fields["worst_nodes"])
    return Answer(
        f"{count(stops['unexpected'], 'unexpected stop')} in {asked.days} days, {often};"
        f" nodes that stand out: {len(fields['worst_nodes'])}.",
        "Ask what else happened to the worst node."
        if worst
        else "No node stands out: ask about single jobs.",
        [f"{untriaged} of the stops have no cause."] if untriaged > 0 else [],
        quotes,
        fields,
        {"worst_nodes": worst},
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


async def _find_asked_incident(ask: Asker, asked: OfJob) -> Wire:
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
