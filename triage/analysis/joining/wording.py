"""An answer in words: summary, reasons and the next step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from triage.analysis.joining.hypothesis import Hypothesis
from triage.analysis.joining.place import Domain, DomainKind, Unplaced
from triage.domain.category import GPU_PARTS, SOFTWARE, Action, Category, Role
from triage.domain.evidence import KERNEL_KINDS, LEARNED, OWN_ACTION, UNREAD, Evidence, RowOrigin
from triage.domain.finding import Finding
from triage.domain.report import Because, Suspect, Victims
from triage.domain.toml_tables import read_toml


@dataclass(frozen=True, slots=True)
class _Wording:
    """What a cause is called, what to do about it, and what to look at where only dumps say so."""

    failed: str
    action: Action
    next_step: str | None = None


_WORDS: Final = {
    Category(name): _Wording(one["failed"], Action(one["action"]), one.get("next_step"))
    for name, one in read_toml("triage.domain", "category").items()
}

_QUOTED: Final = 120
_NAMED: Final = 4


def choose_action(cause: Hypothesis, role: Role) -> Action:
    """The next step for a place; one that is only possible is looked at first."""
    if role is Role.POSSIBLE and not cause.in_no_node:
        return Action.INVESTIGATE
    if role is Role.AFFECTED:
        return Action.CHECK_NETWORK
    if _is_kernel_down(cause):
        return Action.REBOOT_NODE
    return _own_action(cause) or _WORDS[cause.category].action


def _is_kernel_down(cause: Hypothesis) -> bool:
    """Whether the kernel of a node gave up, for whatever reason: no code of the job mends that."""
    panicked = any(row.signature == "lockup.panic" for row in cause.rows)
    return panicked and cause.category in SOFTWARE | {Category.HOST_STALL}


def _own_action(cause: Hypothesis) -> Action | None:
    """What a team's own signature says is to be done, of the first of the rows that says it."""
    named = (row for row in cause.rows if row.category in (None, cause.category))
    return next((Action(row.fields[OWN_ACTION]) for row in named if OWN_ACTION in row.fields), None)


def build_reasons(cause: Hypothesis, node: str | None) -> tuple[Because, ...]:
    """Reasons: the roots in the order of time, then what the dumps say."""
    own = [row for row in cause.rows if node is None or row.node in (node, None)] or cause.rows
    reasons = [build_reason(row, node) for row in own[:5]]
    if isinstance(cause.place, Domain) and cause.place.kind is DomainKind.LEAF_SWITCH:
        if cause.place.name is None:
            reasons.insert(0, Because("fabric.links", "links of several nodes went down together"))
        else:
            text = f"all ends hang on leaf switch {cause.place.name}"
            reasons.insert(0, Because("fabric.leaf", text))
    elif cause.votes > 1 and not cause.in_no_node:
        text = f"{cause.votes} other nodes have trouble in connections with it"
        reasons.append(Because("fabric.votes", text))
    if cause.rows:
        reasons += [reason for claim in cause.claims for reason in claim.because[:3]]
    else:
        reasons += [reason for claim in cause.claims for reason in claim.because]
    return tuple(dict.fromkeys(reasons))


def build_reason(row: Evidence, node: str | None) -> Because:
    """The line as a reason to suspect ``node``; another node's line says whose it is."""
    source = "kernel" if row.kind in KERNEL_KINDS else "job"
    if row.origin is RowOrigin.TELEMETRY:
        source = "telemetry"
    times = f" ({row.count} times)" if row.count > 1 else ""
    teller = f"{row.node} says of it: " if node and row.node and row.node != node else ""
    text = f"{teller}{row.text}{times}"
    detector = row.signature if row.is_own else f"{source}.{row.kind}"
    if row.signature == LEARNED:
        text += f" (in words that no signature knows: read like what {row.fields['like']} prints)"
    elif row.signature == UNREAD:
        text += " (in words that nobody knows: it may tell nothing)"
    return Because(detector, text, row.artifact, row.line, row.at)


def summarize(
    top: Hypothesis, suspects: Sequence[Suspect], victims: Victims, *, is_named: bool
) -> str:
    """One sentence for the person on call, about what lines say; on one line, whatever nodes are
    called.
    """
    return " ".join(_compose_sentence(top, suspects, victims, is_named=is_named).split())


def _compose_sentence(
    top: Hypothesis, suspects: Sequence[Suspect], victims: Victims, *, is_named: bool
) -> str:
    what = "the kernel gave up" if _is_kernel_down(top) else _WORDS[top.category].failed
    quote = _quote_line(top)
    if not is_named:
        return f"No cause is likely enough to be named; the best guess is that {what}{quote}."
    waits = ""
    if victims.ranks:
        waiting = len(victims.ranks)
        other = " other" if suspects and suspects[0].ranks else ""
        waits = f"; {waiting}{other} rank{' waits' if waiting == 1 else 's wait'}"
    if isinstance(top.place, Domain):
        nodes = ", ".join(top.place.nodes[:4]) + (" ..." if len(top.place.nodes) > 4 else "")
        if top.place.kind is DomainKind.NVLINK_DOMAIN:
            return f"The NVLink domain of {nodes} failed{quote}{waits}."
        if top.place.name is None:
            return f"Links of {nodes} went down together, so the switch is the likelier{quote}."
        return (
            f"Leaf switch {top.place.name} or its links failed, behind which {nodes} stand{quote}."
        )
    if top.in_no_node or not suspects or isinstance(top.place, Unplaced):
        on = f" on {top.votes} nodes" if top.votes > 1 else ""
        where = "no single node is to blame" if top.in_no_node else "no line says on which node"
        return f"{what[0].upper()}{what[1:]}{on}{quote}: {where}{waits}."
    best = suspects[0]
    place = f"On {best.node}" if best.node is not None else "In the job"
    of = f" ({', '.join(part)})" if (part := _describe_part(best)) else ""
    hedge = "" if best.role is Role.CULPRIT else "possibly "
    return f"{place}{of}, {hedge}{what}{quote}{waits}."


def _describe_part(best: Suspect) -> list[str]:
    """Ranks and the one GPU of a suspect, as far as they are known."""
    parts = []
    if best.ranks:
        shown = ", ".join(map(str, best.ranks[:4])) + (" ..." if len(best.ranks) > 4 else "")
        parts.append(f"rank {shown}" if len(best.ranks) == 1 else f"ranks {shown}")
    if len(best.gpus) == 1 and best.category in GPU_PARTS:
        parts.append(f"GPU {best.gpus[0]}")
    return parts


def _quote_line(top: Hypothesis) -> str:
    if not top.rows:
        return f": {top.claims[0].summary}" if top.claims else ""
    text = " ".join(top.rows[0].text.split())
    return f': "{text[:_QUOTED]}{"..." if len(text) > _QUOTED else ""}"'


def summarize_claims(
    claims: Sequence[Finding],
    convicted: Sequence[Finding],
    suspects: Sequence[Suspect],
    victims: Victims,
) -> str:
    """One sentence for the person on call, about what only dumps and looks say."""
    if not suspects:
        advice = claims[0].advice or "look at links, switch, NICs and NCCL's own log"
        return f"{_capitalize_first(claims[0].summary)}: nobody is convicted; {advice}."
    shown = convicted or [finding for finding in claims if finding.ranks or finding.nodes]
    top = shown[0]
    same = [
        f
        for f in shown
        if f.category is top.category
        and f.detector == top.detector
        and (f.summary == top.summary or not top.of_looks)
    ]
    sentence = f"{_describe_accused(same, suspects)} {top.summary}"
    line = _find_look_beside(top, claims)
    if line is not None:
        sentence += f"; by its stack it {line.summary}"
    if victims.ranks:
        count = len(victims.ranks)
        sentence += f"; {count} other rank{' waits' if count == 1 else 's wait'}"
    step = _WORDS[top.category].next_step if convicted and line is None else None
    if top.of_looks:
        step = top.advice or None
    sentence += f": {step}." if step else "."
    others = [
        finding
        for finding in shown
        if finding not in same and finding.ranks and not set(finding.ranks) <= set(top.ranks)
    ]
    if others:
        more = ", ".join(f"rank {f.ranks[0]} {f.summary}" for f in others[:2])
        sentence += f" Besides, {more}."
    return sentence


def _capitalize_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def _describe_accused(claims: Sequence[Finding], suspects: Sequence[Suspect]) -> str:
    """The ranks that claims name with their nodes, else the nodes."""
    ranks = list(dict.fromkeys(rank for finding in claims for rank in finding.ranks))
    if not ranks:
        nodes = list(dict.fromkeys(node for finding in claims for node in finding.nodes))
        more = f" and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else ""
        return f"A rank on {', '.join(nodes[:_NAMED])}{more}"
    homes = {rank: row.node for row in suspects for rank in row.ranks}
    names = [
        f"{rank} ({homes[rank]})" if homes.get(rank) is not None else f"{rank}" for rank in ranks
    ]
    who = "Rank " if len(ranks) == 1 else "One of ranks " if claims[0].one_of else "Ranks "
    who += ", ".join(names[:_NAMED])
    return f"{who} and {len(names) - _NAMED} more" if len(names) > _NAMED else who


# Detectors whose claims say where in its program a rank stands.
_OF_STACKS: Final = ("stacks.", "debug_server.")


def _find_look_beside(top: Finding, claims: Sequence[Finding]) -> Finding | None:
    """The claim of a look that says where a rank stands that dumps name."""
    if top.of_looks:
        return None
    ranks = set(top.ranks)
    return next(
        (
            claim
            for claim in claims
            if claim.detector.startswith(_OF_STACKS) and ranks & set(claim.ranks)
        ),
        None,
    )
