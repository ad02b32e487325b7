"""Answer: the phrases about an answer that terminal, page, notebook and messages share."""

from collections.abc import Callable, Iterator, Sequence

from triage.domain.category import LLAMA3_ROW, Category, Role, VerdictKind
from triage.domain.counts import count
from triage.domain.next_step import Symptom
from triage.domain.report import Answer, Coverage, Victims
from triage.domain.restart import Restart, RestartDecision
from triage.domain.wire import format_iso_utc
from triage.render.words.clean import format_one_line
from triage.render.words.ranges import condense, condense_names

_MOST = 0.99


def format_belief(probability: float) -> str:
    """``0.97``; what would round to 1.00 is ``0.99``: the whole number is in the JSON."""
    return f"{min(probability, _MOST):.2f}"


def describe_cause(category: Category) -> str:
    """``gpu_hbm (HBM3 memory)``: the category and its row of the Llama 3 table, if it has one."""
    row = LLAMA3_ROW[category]
    return f"{category} ({row})" if row else str(category)


def describe_victims(
    victims: Victims, *, max_chars: int, clean: Callable[[str], str] | None = None
) -> str:
    """``3 ranks: 0-2; 1 node: n1``; an empty text where nobody waits.

    ``max_chars`` bounds each of the two lists; ``clean`` is applied to each node's name.
    """
    parts = []
    if victims.ranks:
        ranks = condense(victims.ranks, max_chars=max_chars)
        parts.append(f"{count(len(victims.ranks), 'rank')}: {ranks}")
    if victims.nodes:
        names = map(clean, victims.nodes) if clean else victims.nodes
        nodes = condense_names(names, max_chars=max_chars)
        parts.append(f"{count(len(victims.nodes), 'node')}: {nodes}")
    return "; ".join(parts)


def list_coverage_facts(coverage: Coverage, *, max_chars: int) -> Iterator[tuple[str, str]]:
    """(what, how much) of what was read; ``max_chars`` bounds the list of ranks."""
    of_all = "" if coverage.ranks_expected is None else f" of {coverage.ranks_expected:,}"
    some = bool(coverage.dumps_read or of_all)
    yield "dumps read", f"{coverage.dumps_read:,}{of_all}" if some else "none"
    if coverage.ranks_without_dump:
        yield "ranks without dump", condense(coverage.ranks_without_dump, max_chars=max_chars)
    if coverage.lines_read:
        missed = f"{coverage.lines_not_understood:,} not understood"
        yield "log lines read", f"{coverage.lines_read:,}, {missed}"
    for one in coverage.unread_examples[:_MAX_UNREAD]:
        place = one.artifact if one.line is None else f"{one.artifact}:{one.line}"
        yield "nobody can place", f"{one.text[:_MAX_CHARS]} [{place}]"


_MAX_CHARS = 120
_MAX_UNREAD = 3
_WORDS = {
    RestartDecision.RESTART: "restart",
    RestartDecision.RESTART_WITHOUT: "restart without",
    RestartDecision.STOP: "stop, and fix it first",
    RestartDecision.WAIT: "wait, then restart",
}


def restart_headline(decision: str, exclude: Sequence[str], retries_left: int) -> str:
    """``restart without n3 (up to 3 times)``; a decision of a later release as it is written."""
    known = decision in set(RestartDecision)
    words = _WORDS[RestartDecision(decision)] if known else decision
    nodes = f" {condense_names(exclude, max_chars=_MAX_CHARS)}" if exclude else ""
    times = f" (up to {count(retries_left, 'time')})" if retries_left else ""
    return f"{words}{nodes}{times}"


def restart_text(restart: Restart) -> str:
    """The decision and its reason."""
    head = restart_headline(restart.decision, restart.exclude, restart.retries_left)
    return f"{head}: {restart.why}"


def describe_symptom_facts(one: Symptom) -> str:
    """``rank 0, a1, ALLREDUCE, number 912, default_pg, 4 ranks say it``; empty where its text is
    all that is known.
    """
    facts = [] if one.rank is None else [f"rank {one.rank}"]
    facts += [format_one_line(one.node, 120)] if one.node is not None else []
    facts += [format_one_line(one.op, 32)] if one.op is not None else []
    facts += [f"number {one.seq_id}"] if one.seq_id is not None else []
    facts += [format_one_line(one.pg, 40)] if one.pg is not None else []
    facts += [f"{count(one.num_ranks, 'rank')} say it"] if one.num_ranks > 1 else []
    return ", ".join(facts)


def describe_symptom_place(one: Symptom) -> str:
    """``job.log:3 at 2026-12-06T18:44:11Z``; empty where no file says it."""
    if one.artifact is None:
        return ""
    line = f":{one.line}" if one.line else ""
    when = "" if one.at is None else f" at {format_iso_utc(one.at)}"
    return f"{format_one_line(one.artifact, 400)}{line}{when}"


def describe_symptom(one: Symptom) -> str:
    """All of it in one sentence: ``FACTS: TEXT (PLACE)``."""
    facts, place = describe_symptom_facts(one), describe_symptom_place(one)
    head, tail = f"{facts}: " if facts else "", f" ({place})" if place else ""
    return f"{head}{format_one_line(one.text, 400)}{tail}"


_FABRIC = frozenset({Category.NETWORK, Category.NIC})
_NOT_OF_A_NODE = frozenset(
    {
        Category.SOFTWARE_USER, Category.SOFTWARE_FRAMEWORK, Category.COLLECTIVE_MISMATCH,
        Category.GPU_OOM, Category.DEPENDENCY, Category.STORAGE,
    }
)  # fmt: skip


def explain_test_groups(answer: Answer) -> str | None:
    """The reason in half a sentence; None where a node is convicted, or none is in question."""
    verdict = answer.verdict
    if verdict.kind is VerdictKind.HEALTHY or verdict.category in _NOT_OF_A_NODE:
        return None
    if verdict.category is Category.SDC:
        return "corruption that no error reports has to be seen more than once"
    if any(one.role is Role.CULPRIT and one.node for one in answer.suspects):
        return None
    possible = {one.node for one in answer.suspects if one.role is Role.POSSIBLE and one.node}
    if len(possible) > 1:
        return f"{len(possible)} nodes may be the cause, and none is convicted"
    if verdict.kind is VerdictKind.STRAGGLER or answer.slow_job is not None:
        return "the job is slow, and no node explains it"
    if verdict.category is Category.NCCL_TIMEOUT:
        return "collectives time out, and no node explains it"
    if verdict.category in _FABRIC:
        return "the fabric stalls, and no node explains it"
    if verdict.kind is VerdictKind.INCONCLUSIVE:
        return "the evidence names no node"
    return None
