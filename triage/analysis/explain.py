"""Why each suspect stands where it stands, and what would change it.

The model is a sum, so every part of it can be shown. What would change the answer is tried out: the
same incident is weighed again without each artifact that the first suspect rests on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Final

from triage.analysis.answer import (
    Weighing,
    list_missing,
    require_usable,
    weigh_incident,
    weigh_view,
)
from triage.analysis.facts.find_stop import find_wait_start_ns
from triage.analysis.facts.stop import FAILING, JOB_KINDS, Stop, state_time
from triage.analysis.joining.belief import Belief
from triage.analysis.joining.bounds import BOUNDS, Bound
from triage.analysis.joining.features import FEATURES
from triage.analysis.joining.hangs_on import Dependence, find_dependences
from triage.analysis.joining.model import Model, load_model
from triage.analysis.joining.verdict import Decision
from triage.analysis.joining.witness_words import describe_witness
from triage.analysis.joining.wording import build_reasons
from triage.analysis.restart.decide import decide_restart, stop_cause
from triage.analysis.waiting.case import make_timestamp
from triage.domain.category import Category
from triage.domain.evidence import LEARNED, Evidence, EvidenceRole
from triage.domain.job import Job
from triage.domain.report import Because, Missing, Verdict
from triage.domain.restart import Restart
from triage.domain.wire import Key, Rounded, WireForm, convert_to_wire, format_iso_utc
from triage.parsers.flight_recorder.dump_set import DumpSet
from triage.parsers.logs.logset import LogSet

SCHEMA: Final = "triage.explain/1"
_MAX_PLACES: Final = 12
_MAX_TRIALS: Final = 4
_MAX_UNREAD: Final = 10
_Told = Annotated[float, Rounded(decimals=4)]

_WORDS: Final = {feature.name: feature.words for feature in FEATURES if feature.words}


@dataclass(frozen=True, slots=True)
class Term(WireForm):
    """One term of the sum: what it is, and its log-odds."""

    feature: str
    words: str
    log_odds: _Told


@dataclass(frozen=True, slots=True)
class ExplainedPlace(WireForm):
    """A hypothesis with the terms of its sum, the weightiest first.

    ``ahead`` is how far its log-odds lead those of its best rival, None without a rival;
    ``bounds`` are the reasons for which no more is believed of it.
    """

    node: str | None
    ranks: tuple[int, ...]
    category: Category
    shared: bool
    belief: Annotated[_Told, Key("probability")]
    log_odds: _Told
    ahead: Annotated[float | None, Rounded(decimals=4)]
    parts: Annotated[tuple[Term, ...], Key("terms")]
    because: tuple[Because, ...]
    bounds: tuple[Bound, ...] = ()

    WIRE = (
        "node", "ranks", "category", "shared", "belief", "log_odds", "ahead", "parts",
        "bounds_in_words", "because",
    )  # fmt: skip

    @property
    def bounds_in_words(self) -> Annotated[list[dict[str, Any]], Key("bounds")]:
        """Each bound with its words and the most that it leaves."""
        return [
            {"bound": str(bound), "words": BOUNDS[bound].words, "most": BOUNDS[bound].most}
            for bound in self.bounds
        ]


@dataclass(frozen=True, slots=True)
class Trial:
    """The verdict without one artifact, or without the dumps where that is None."""

    artifact: str | None
    node: str | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class UnreadTrial:
    """The answer if a line that nobody can place told the cause that is likeliest of it."""

    line: Evidence
    category: Category
    node: str | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Explanation:
    """All of it; ``places`` best first.

    ``from_dumps`` says that the verdict is that of the dumps alone and the places only
    show how the logs would stand beside it. ``start_known`` and ``end_known`` are how
    the times of the stop are known, in words.
    """

    verdict: Verdict
    node: str | None
    from_dumps: bool
    stop: Stop
    start_known: str
    end_known: str
    bias: float
    places: tuple[ExplainedPlace, ...]
    trials: tuple[Trial, ...]
    missing: Missing
    hangs_on: tuple[Dependence, ...] = ()
    restart: Restart | None = None
    unread: tuple[UnreadTrial, ...] = ()

    def to_dict(self, top: int | None = None) -> dict[str, Any]:
        """The wire form: what ``triage explain --format json`` prints; ``top`` places."""
        return {
            "schema": SCHEMA,
            "verdict": self.verdict.to_dict(),
            "from_dumps": self.from_dumps,
            "stop": {
                "start": format_iso_utc(make_timestamp(self.stop.start_ns)),
                "start_known": self.start_known,
                "end": format_iso_utc(make_timestamp(self.stop.end_ns)),
                "end_known": self.end_known,
                "trouble": self.stop.trouble,
            },
            "bias": round(self.bias, 4),
            "places": [
                {"position": position, **item.to_dict()}
                for position, item in enumerate(self.places[:top], start=1)
            ],
            "without": [
                {"artifact": trial.artifact, **_describe_outcome(trial.node, trial.verdict)}
                for trial in self.trials
            ],
            "hangs_on": [item.to_dict() for item in self.hangs_on],
            "unread": [
                {
                    "artifact": trial.line.artifact,
                    "line": trial.line.line,
                    "text": trial.line.text,
                    "told": str(trial.category),
                    **_describe_outcome(trial.node, trial.verdict),
                }
                for trial in self.unread
            ],
            **({} if self.restart is None else {"restart": self.restart.to_dict()}),
            "missing": convert_to_wire(self.missing),
        }


def _describe_outcome(node: str | None, verdict: Verdict) -> dict[str, Any]:
    """What a trial came to, in the JSON of an explanation."""
    return {
        "node": node,
        "kind": str(verdict.kind),
        "category": str(verdict.category),
        "confidence": round(verdict.confidence, 4),
    }


def explain_evidence(
    dumps: DumpSet, logs: LogSet, facts: Job, at: datetime | None = None
) -> Explanation:
    """The explanation that follows from digests and evidence.

    Raises :class:`NothingToAnalyze` when neither a dump nor a line of a log can be used.
    """
    # Placing logs on one clock may leave notes in them: every weighing gets its own.
    weighed = weigh_incident(dumps, drop_artifact(logs, None), facts, at)
    require_usable(weighed, logs)

    def once_more(with_dumps: bool, left: LogSet) -> Decision:
        return weigh_view(weighed.view if with_dumps else None, left, facts, at).joined.decision

    decision, ranked, model = weighed.joined.decision, weighed.joined.beliefs, load_model()
    best = sorted((belief.log_odds for belief in ranked if belief.features), reverse=True)[:2]
    from_dumps = bool(ranked) and not ranked[0].hypothesis.rows
    stated, _ = state_time(decision.verdict.at, weighed.dated.evidence, weighed.stop, None)
    start, end = _explain_times(weighed, facts, at)
    # The verdict without each artifact that the first place rests on, then without dumps.
    first = ranked[0].hypothesis if ranked else None
    tried: list[str | None] = []
    if first is not None:
        tried += list(dict.fromkeys(row.artifact for row in first.rows))[:_MAX_TRIALS]
        tried += [None] if weighed.dated.evidence and (from_dumps or first.claims) else []
    others = [
        (one, once_more(with_dumps=one is not None, left=drop_artifact(logs, one))) for one in tried
    ]
    return Explanation(
        verdict=replace(decision.verdict, at=stated),
        node=_get_first_node(decision),
        from_dumps=from_dumps,
        stop=weighed.stop,
        start_known=start,
        end_known=end,
        bias=model.bias,
        places=tuple(
            ExplainedPlace(
                belief.hypothesis.node,
                belief.hypothesis.ranks,
                belief.hypothesis.category,
                belief.hypothesis.in_no_node,
                belief.probability,
                belief.log_odds,
                # How far it is before the best of the others; negative when it is behind.
                belief.log_odds - (best[1] if belief.log_odds == best[0] else best[0])
                if len(best) > 1 and belief.features
                else None,
                _list_terms(belief, weighed.stop, model),
                build_reasons(belief.hypothesis, belief.hypothesis.node),
                belief.bounds,
            )
            for belief in ranked[:_MAX_PLACES]
        ),
        trials=tuple(Trial(one, _get_first_node(other), other.verdict) for one, other in others),
        missing=list_missing(weighed, logs),
        hangs_on=find_dependences(
            decision, first, logs, dumps=weighed.view is not None, again=once_more
        ),
        unread=tuple(
            UnreadTrial(row, row.also[0], _get_first_node(other), other.verdict)
            for row in [one for one in weighed.unread if one.also][:_MAX_UNREAD]
            for other in [once_more(with_dumps=True, left=_believe_line(logs, row))]
        ),
        restart=decide_restart(
            decision.verdict,
            decision.suspects,
            len(weighed.nodes) or None,
            stop_cause(weighed.joined),
            facts.starts,
        ),
    )


def drop_artifact(logs: LogSet, artifact: str | None) -> LogSet:
    """A copy of ``logs`` as if one file had not been there."""
    return replace(
        logs,
        files=[file for file in logs.files if file.artifact != artifact],
        evidence=[row for row in logs.evidence if row.artifact != artifact],
        refused=list(logs.refused),
        telemetry=[file for file in logs.telemetry if file.artifact != artifact],
        notes=list(logs.notes),
    )


def _believe_line(logs: LogSet, told: Evidence) -> LogSet:
    """A copy of ``logs`` in which a line that nobody can place tells what is likeliest of it."""
    copy = drop_artifact(logs, None)
    place = (told.artifact, told.line, told.signature)
    fields = {"score": "1.00", "like": "a line that tells it"}
    copy.evidence = [
        replace(
            row, role=EvidenceRole.ROOT, category=row.also[0], also=(), signature=LEARNED,
            fields={**row.fields, **fields},
        )
        if (row.artifact, row.line, row.signature) == place
        else row
        for row in copy.evidence
    ]  # fmt: skip
    return copy


def _get_first_node(decision: Decision) -> str | None:
    return decision.suspects[0].node if decision.suspects else None


def _explain_times(weighed: Weighing, facts: Job, at: datetime | None) -> tuple[str, str]:
    """In words: what says when the job stopped, and what says when it was given up."""
    stop, evidence = weighed.stop, weighed.dated.evidence
    case = weighed.view.case if weighed.view is not None else None
    if stop.start_ns is None:
        start = "nothing says when"
    elif stop.start_ns == find_wait_start_ns(case, weighed.dated.ahead_of_rank):
        start = "the dumps: then the first ranks entered what they never left"
    elif not stop.known:
        start = "a guess: the last error in the logs, since none of them tells of the job"
    elif stop.start_ns == stop.moved_ns:
        start = "the last progress that the job printed"
    elif place := _find_printed_line(evidence, stop.start_ns):
        start = f"the first line of a process that fails, {place}"
    else:
        start = "the watchdogs: when they gave up, less the time that they had waited"
    if stop.end_ns is None:
        end = "nothing says when"
    elif at is not None:
        end = "as given with --at"
    elif stop.end_ns == facts.failed_at_ns:
        end = "as job.json says"
    else:
        place = _find_printed_line(evidence, stop.end_ns)
        end = f"the last line of a process that fails{f', {place}' if place else ''}"
    return start, end


def _find_printed_line(evidence: Sequence[Evidence], at_ns: int) -> str:
    """``artifact:line`` of the line that was printed at a time; nothing without one."""
    places = sorted(
        (row.artifact, row.line or 0)
        for row in evidence
        if row.at_ns == at_ns and row.kind in JOB_KINDS and row.role in FAILING
    )
    return f"{places[0][0]}:{places[0][1]}" if places else ""


def _list_terms(belief: Belief, stop: Stop, model: Model) -> tuple[Term, ...]:
    """The terms of the first step that are not nothing."""
    parts = (
        Term(
            name,
            describe_witness(name, belief.hypothesis, stop) or _WORDS.get(name, name),
            model.weights.get(name, 0.0) * value,
        )
        for name, value in belief.features.items()
    )
    return tuple(
        sorted(
            (part for part in parts if abs(part.log_odds) >= 0.005),
            key=lambda part: (-abs(part.log_odds), part.feature),
        )
    )
