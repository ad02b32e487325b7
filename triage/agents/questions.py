"""Questions: what each tool asks of the service, and its answer.

Each asks routes of the service, from wherever the tools run; its docstring is what clients read of
it, and it raises :class:`triage.errors.TriageError`. A refusal becomes one sentence with
the next step. It is made of the status and of names of parameters alone, since details of a refusal
may hold what was sent.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import quote

import httpx2

from triage.agents.answers import (
    MAX_QUOTES,
    Answer,
    Fields,
    Quotes,
    Wire,
    list_nodes,
    show,
    show_as,
    show_reasons,
)
from triage.agents.shapes import OfFleet, OfIncident, OfJob, OfNode
from triage.client.incident import build_incident_path
from triage.client.transport import JsonObject, make_refusal_error, parse_json_object
from triage.domain.answer_wire import answer_of_report as answer_in
from triage.domain.category import Action
from triage.domain.counts import count, format_ordinal
from triage.errors import (
    Conflict,
    NotAllowed,
    NotFound,
    NoToken,
    Refusal,
    TooMany,
    TriageError,
    Unprocessable,
)
from triage.render.words.next_step import build_next_step

Query = Mapping[str, str | int | None]
Ask = Callable[[str, Query], Awaitable[JsonObject]]
"""Asks a route, with the token of one caller, for the object at a path. Raises
:class:`triage.errors.TriageError`."""


class ToolRefused(TriageError):
    """A tool gives no answer; the message is one sentence of ours, with the next step."""


async def ask_application(http: httpx2.AsyncClient, path: str, query: Query) -> JsonObject:
    """Ask the application itself, by all of its layers; ``http`` carries the caller's token."""
    params = {key: value for key, value in query.items() if value is not None}
    answer = await http.get(path, params=params)
    body = parse_json_object(answer)
    if not answer.is_success or body is None:
        raise make_refusal_error(answer, body or {})
    return body


# The first class that an error is of.
_SENTENCES: Final = {
    NoToken: "The token is missing or no longer valid: set up this server with a valid one.",
    NotAllowed: "The token may not read: set up this server with one of"
    " `triage token create --scope read`.",
    NotFound: "Nothing of this name is known here, or the token does not reach it: check job_id,"
    " incident_id, node and cluster; the fleet summary and other answers name those that are"
    " known.",
    Conflict: "There is no answer yet, files still come in: ask again in half a minute.",
    TooMany: "This token asks too often: ask again in {wait_s} s.",
    Unprocessable: "The service does not take {which} as given: correct it and ask again.",
    Refusal: "The service does not answer now: ask again in {wait_s} s, then tell a person.",
    TriageError: "The service cannot be asked: check the address and the token of this server.",
}


def describe_agent_error(error: TriageError) -> str:
    """What an agent reads of an error."""
    if isinstance(error, ToolRefused):
        return str(error)
    wait_s, which = None, ""
    if isinstance(error, Refusal):
        wait_s = error.retry_after_s or (1 if isinstance(error, TooMany) else 5)
        named = sorted({place.where.rpartition("/")[2] for place in error.places})
        which = " and ".join(name for name in named if name.isidentifier() and len(name) < 32)
    sentence = next(text for kind, text in _SENTENCES.items() if isinstance(error, kind))
    return sentence.format(wait_s=wait_s, which=which or "an argument")


_FEW: Final = 5
_PROBLEM: Final = ("id", "nth", "count", "first_seen", "last_seen")
_MAX_REASONS: Final = 4
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


async def what_stopped_this_job(ask: Ask, asked: OfJob) -> Answer:
    """Verdict, suspects, restart decision and evidence of the newest failure of a job."""
    incident, report = await _fetch_asked(ask, asked)
    return answer_of_report(report or None, Quotes(), incident)


def answer_of_report(report: Wire | None, quotes: Quotes, incident: Wire | None = None) -> Answer:
    """A report (None before the first verdict) and its incident, where it is of one."""
    known = report or {}
    suspects = known.get("suspects", ())
    fields: Fields = {
        "incident": show_as("incident", incident, quotes),
        "verdict": show_as("verdict", known.get("verdict"), quotes),
        "suspects": [show_as("suspect", one, quotes) for one in suspects[:3]],
        "restart": show_as("restart", known.get("restart"), quotes),
        # The first time-out and what went before or after it: reasons are quoted beside them.
        "seen_first": [show_as("symptom", one, quotes) for one in known.get("symptoms", ())[:2]],
        "evidence": show_reasons(suspects, _MAX_REASONS, quotes),
        "coverage": show_as("coverage", known.get("coverage"), quotes),
        "commands": list(_iterate_safe_commands(known)),
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


async def why_is_this_node_suspected(ask: Ask, asked: OfIncident) -> Answer:
    """The reasons for one suspect, each with file and line, and how often it recurs."""
    incident, report = await _fetch_asked(ask, asked)
    suspects = report.get("suspects", ())
    place = next((k for k, one in enumerate(suspects) if one["node"] == asked.node), len(suspects))
    one, after = (*suspects[place : place + 2], None, None)[:2]
    problem = incident.get("problem")
    wanted = [it for it in incident.get("wanted", ()) if one and it["node"] == asked.node]
    summary = "The node is no suspect of this incident."
    step = "Ask what stopped the job: the answer names the suspects."
    if one is not None:
        reasons = one["because"][:MAX_QUOTES]
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
    fields: Fields = {
        "node": quotes.name(asked.node),
        "incident": show_as("incident", incident, quotes),
        "suspect": show_as("suspect", one, quotes),
        "before_next": round(one["score"] - after["score"], 2) if one and after else None,
        "evidence": show_reasons([one] if one else [], MAX_QUOTES, quotes),
        "problem": show(problem, _PROBLEM, quotes) if problem else None,
    }
    unknowns = _list_unknowns(report.get("coverage"), wanted)
    return Answer(summary, step, unknowns, quotes, fields, {"node": [fields["node"]]})


async def what_would_change_the_answer(ask: Ask, asked: OfJob) -> Answer:
    """Which files are missing, how far the next suspect is behind, what was not read."""
    incident, report = await _fetch_asked(ask, asked)
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
    fields: Fields = {
        "incident": show_as("incident", incident, quotes),
        "verdict": show_as("verdict", report.get("verdict"), quotes),
        "first": show_as("suspect", first, quotes),
        "next": show_as("suspect", second, quotes),
        "wanted": [show(one, ("kind", "node", "rank"), quotes) for one in wanted[:_FEW]],
        "coverage": show_as("coverage", report.get("coverage"), quotes),
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


async def what_else_happened_to_this_node(ask: Ask, asked: OfNode) -> Answer:
    """Incidents, distinct errors and rate of a node over the whole record."""
    wire = await ask(f"/v1/nodes/{quote(asked.node, safe='')}", {})
    rate, probation = wire["rate"], wire.get("probation") is not None
    beside = "" if rate["ratio"] is None else f", {rate['ratio']:.1f} times the mean of the fleet"
    quotes = Quotes()
    errors = ("signature", "code", "category", "count", "incidents", "last_at")
    fields: Fields = {
        "node": quotes.name(asked.node),
        **show(
            wire, ("last_seen_at",), quotes, window_days=rate["window_days"],
            culprit_in=rate["incidents"], times_fleet_mean=rate["ratio"],
        ),
        "incidents": [
            show(
                one, ("incident_id", "role", "category", "resolved_as"), quotes,
                at=one["created_at"], confidence=one["score"],
            )
            for one in wire["incidents"][:_FEW]
        ],
        "errors": [show(one, errors, quotes) for one in wire["errors"][:_FEW]],
        "num_parts": len(wire["parts"]),
        "on_probation": probation,
    }  # fmt: skip
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


async def fleet_summary(ask: Ask, asked: OfFleet) -> Answer:
    """How often jobs stop, by what causes, and which nodes stand out."""
    since = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(days=asked.days)
    query = {"since": since.isoformat(), "cluster": asked.cluster, "top": _FEW}
    wire = await ask("/v1/fleet", query)
    stops, mtti = wire["stops"], wire["mtti"]
    often = "no estimate of the time between them"
    if mtti["value"] is not None:
        often = f"{mtti['value']:.1f} {mtti['unit']} between them"
    untriaged = stops["unexpected"] - stops["triaged"]
    quotes = Quotes()
    fields: Fields = {
        **show(
            wire, ("since", "until", "cluster"), quotes,
            unexpected_stops=stops["unexpected"], planned_stops=stops["planned"],
        ),
        "mtti": show(mtti, ("value", "low", "high", "n", "unit"), quotes),
        "causes": [
            show(
                one, ("count",), quotes,
                category=one["category"] or "untriaged", share=one["share"]["value"],
            )
            for one in wire["causes"][:_FEW]
        ],
        "worst_nodes": [
            show(one, ("node", "grade"), quotes) for one in wire["standings"]["nodes"][:_FEW]
        ],
    }  # fmt: skip
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
    action = report["verdict"]["action"]
    step = _ACTIONS.get(action, "Have a person look at the report.")
    if action == Action.INVESTIGATE and not report["suspects"]:
        step = "Nobody is named: bring more files, or have a person look at the report."
    if incident is not None and incident["provisional"]:
        step += " The answer may still change: ask again before acting."
    return step


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


async def _fetch_asked(ask: Ask, asked: OfJob) -> tuple[Wire, Wire]:
    """The incident that is meant, by its id or as the newest of the job, and its report, which is
    empty before the first verdict.
    """
    known = asked.incident_id
    if known is None:
        query = {"job_id": asked.job_id, "cluster": asked.cluster, "limit": 1}
        newest = (await ask("/v1/incidents", query))["items"]
        if not newest:
            raise NotFound("no incident of this job")
        known = newest[0]["id"]
    incident = await ask(build_incident_path(known), {})
    if incident["verdict"] is None:
        return incident, {}
    return incident, await ask(build_incident_path(incident["id"], "report"), {})
