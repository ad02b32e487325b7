"""Odd GPU: it idles, or works on, while the others of the job spin in a collective.

Its rank launched nothing more, or is not done: the others wait for it. It is a pointer, and
moderate: a GPU may idle because another rank's fault keeps its host elsewhere. Where all spin the
fault is no one GPU's.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from triage.analysis.live.case import LiveCase, make_look_claim
from triage.analysis.live.gpus.gpu_activity import GpuActivity
from triage.analysis.live.gpus.two_samples import GpuOfJob, list_gpus
from triage.domain.category import ANY_CAUSE, HARDWARE, Category, VerdictKind
from triage.domain.finding import Finding
from triage.domain.report import Because

_NAME: Final = "gpus.odd_one"
# Of fewer GPUs that spin nobody is the odd one.
_LEAST_SPINNING: Final = 3
# More are odd than this share of the job only where one node has them all.
_MAX_SHARE: Final = 1 / 8
_OF_ONE_NODE: Final = 0.5
# More that are neither nor make the picture unclear.
_MAX_UNCLEAR: Final = 0.25
_ONE_LOOK: Final = 0.4
_TWO_LOOKS: Final = 0.6
_ALL_SPIN: Final = 0.45
_MAX_NAMED: Final = 16
_MAX_REASONS: Final = 4


class OddGpu:
    """One finding for the GPUs that do not spin while the others do, or one on nobody where all
    spin in two looks.

    Silent: where fewer than 3 spin, where many do not, where any moved between two looks.
    """

    name = _NAME

    def run(self, case: LiveCase) -> Iterator[Finding]:
        """The findings on ``case``."""
        if not any(look.gpus for look in case.looks):
            return
        gpus = _select_job_gpus(list_gpus(case), case)
        spinning = [one for one in gpus if one.does is GpuActivity.SPINS]
        if len(spinning) < _LEAST_SPINNING or any(one.moved for one in gpus):
            return
        odd = [one for one in gpus if one.does in (GpuActivity.IDLE, GpuActivity.WORKS)]
        unclear = len(gpus) - len(spinning) - len(odd)
        if unclear > _MAX_UNCLEAR * len(gpus) or (unclear and not odd):
            return
        if not odd:
            if all(one.twice for one in gpus):
                yield _make_all_spin(spinning)
            return
        if len(odd) > _compute_allowed(odd, len(gpus)) or _on_each_node(odd, gpus):
            return
        yield _make_finding(odd, spinning)


def _select_job_gpus(gpus: Sequence[GpuOfJob], case: LiveCase) -> list[GpuOfJob]:
    """Without nodes that idle whole, where nothing says that they are the job's."""
    if case.fleet.seated:
        return list(gpus)
    active = {one.node for one in gpus if one.does is GpuActivity.SPINS}
    return [one for one in gpus if one.node in active]


def _compute_allowed(odd: Sequence[GpuOfJob], total: int) -> float:
    """How many GPUs may be odd: few, or those of one node."""
    if len({one.node for one in odd}) == 1 and odd[0].rank is not None:
        return max(1.0, _OF_ONE_NODE * total)
    return max(1.0, _MAX_SHARE * total)


def _on_each_node(odd: Sequence[GpuOfJob], gpus: Sequence[GpuOfJob]) -> bool:
    """Whether every node has one: GPUs that the job does not use, rather than one that is odd."""
    nodes = {one.node for one in odd}
    return len(nodes) > 1 and nodes == {one.node for one in gpus}


def _make_finding(odd: Sequence[GpuOfJob], spinning: Sequence[GpuOfJob]) -> Finding:
    """The claim that the others wait for the odd ones."""
    twice = all(one.twice for one in (*odd, *spinning))
    ranks = tuple(sorted(one.rank for one in odd if one.rank is not None))[:_MAX_NAMED]
    nodes = tuple(sorted({one.node for one in odd if one.node is not None})) if not ranks else ()
    working = all(one.does is GpuActivity.WORKS for one in odd)
    one_host = len({one.node for one in odd}) == 1
    what = "works on" if working else "idles"
    names = ", ".join(one.name for one in odd[:_MAX_REASONS])
    summary = f"has a GPU that {what} while {len(spinning)} others spin in a collective"
    advice = "look at what its process does (py-spy dump, /proc), and at its GPU"
    if not ranks:
        summary = f"{names} {what} while {len(spinning)} others spin in a collective"
        advice = f"look at the process of {names}, and at the GPU itself"
    return make_look_claim(
        detector=_NAME,
        kind=VerdictKind.HANG,
        # Hosts of several nodes do not stall at once by themselves.
        category=Category.HOST_STALL if one_host and not working else Category.NCCL_TIMEOUT,
        ranks=ranks,
        nodes=nodes,
        strength=_TWO_LOOKS if twice else _ONE_LOOK,
        summary=summary,
        because=tuple(_list_reasons(odd, spinning, twice=twice)),
        of_a_moment=not twice,
        advice=advice,
    )


def _list_reasons(
    odd: Sequence[GpuOfJob], spinning: Sequence[GpuOfJob], *, twice: bool
) -> Iterator[Because]:
    looked = " in two looks" if twice else ""
    for one in odd[:_MAX_REASONS]:
        text = f"{_place_text(one)}{looked}: {_describe_measures(one)}"
        yield Because(_NAME, text, one.artifact, one.sample.line)
    example = spinning[0]
    text = f"{len(spinning)} others spin: {_place_text(example)} {_describe_measures(example)}"
    yield Because(_NAME, text, example.artifact, example.sample.line)


def _place_text(one: GpuOfJob) -> str:
    rank = "" if one.rank is None else f" (rank {one.rank})"
    return f"{one.name}{'' if one.node is None else f' of {one.node}'}{rank}"


def _describe_measures(one: GpuOfJob) -> str:
    """``0 % utilisation, 0 % memory traffic, 119 W``."""
    sample = one.sample
    parts = [f"{sample.utilisation_percent or 0:.0f} % utilisation"]
    if sample.memory_percent is not None:
        parts.append(f"{sample.memory_percent:.0f} % memory traffic")
    if sample.power_w is not None:
        parts.append(f"{sample.power_w:.0f} W")
    return ", ".join(parts)


def _make_all_spin(spinning: Sequence[GpuOfJob]) -> Finding:
    """Nobody's device: all wait in kernels."""
    example = spinning[0]
    text = f"all {len(spinning)} GPUs spin in two looks: {_describe_measures(example)}"
    return make_look_claim(
        detector=_NAME,
        kind=VerdictKind.HANG,
        category=Category.NCCL_TIMEOUT,
        strength=_ALL_SPIN,
        summary=f"all {len(spinning)} GPUs spin in a collective: none of them is at fault by this",
        because=(Because(_NAME, text, example.artifact, example.sample.line),),
        explained_by=ANY_CAUSE | HARDWARE,
        advice="look at stacks, NCCL RAS or dumps, and at the network between the nodes",
    )
