"""Odd GPU: it idles, or works on, while the others of the job spin in a collective.

Its rank launched nothing more, or is not done: the others wait for it. It is a pointer, and
moderate: a GPU may idle because another rank's fault keeps its host elsewhere. Where all spin the
fault is no one GPU's.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from triage.analysis.live.case import LiveCase, make_look_claim
from triage.analysis.live.communicators.rounds import APART_NS
from triage.analysis.live.gpus import GpuActivity, classify_activity
from triage.domain.category import ANY_CAUSE, HARDWARE, Category, VerdictKind
from triage.domain.finding import Finding
from triage.domain.live.look import GpuSample
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


@dataclass(frozen=True, slots=True)
class _GpuOfJob:
    """One GPU, the last ``sample`` of it, and what it ``does``.

    ``twice`` is whether it did the same in a look before. ``moved`` is whether it did something
    else then.
    """

    node: str | None
    rank: int | None
    sample: GpuSample
    artifact: str
    does: GpuActivity
    twice: bool
    moved: bool

    @property
    def name(self) -> str:
        """``GPU 5``, or its address."""
        if self.sample.index is not None:
            return f"GPU {self.sample.index}"
        return f"GPU {self.sample.bus_id or self.sample.uuid}"

    @property
    def place(self) -> str:
        """``GPU 5 of n3 (rank 13)``, as far as it is known."""
        rank = "" if self.rank is None else f" (rank {self.rank})"
        return f"{self.name}{'' if self.node is None else f' of {self.node}'}{rank}"

    @property
    def measures(self) -> str:
        """``0 % utilisation, 0 % memory traffic, 119 W``."""
        sample = self.sample
        parts = [f"{sample.utilisation_percent or 0:.0f} % utilisation"]
        if sample.memory_percent is not None:
            parts.append(f"{sample.memory_percent:.0f} % memory traffic")
        if sample.power_w is not None:
            parts.append(f"{sample.power_w:.0f} W")
        return ", ".join(parts)

    def explain(self, words: str) -> Because:
        return Because(_NAME, words, self.artifact, self.sample.line)


class _PlacedSample(NamedTuple):
    """A sample in the order of time, by its own or that of its look, and its node."""

    at_ns: int | None
    artifact: str
    sample: GpuSample
    node: str | None

    @property
    def order(self) -> tuple[int, str, int]:
        return (self.at_ns or 0, self.artifact, self.sample.line or 0)


def _list_gpus(case: LiveCase) -> list[_GpuOfJob]:
    """The GPUs that looks tell of, by node and number; those that are known not to be the job's
    are left out.
    """
    by_gpu: dict[tuple[str, str, str], list[_PlacedSample]] = defaultdict(list)
    for look in case.looks:
        for sample in look.gpus:
            node = sample.node or look.node or case.homes.of(look.artifact)
            node = None if node is None else case.fleet.node_of_address(node) or node
            at_ns = sample.at_ns or look.stamp.wall_ns
            placed = _PlacedSample(at_ns, look.artifact, sample, node)
            by_gpu[node or "", *_make_key(sample)].append(placed)
    numbers: dict[tuple[str | None, str | None], tuple[str, str, str]] = {
        (one.node, one.sample.bus_id): key
        for key, samples in by_gpu.items()
        for one in samples
        if one.sample.bus_id is not None and one.sample.index is not None
    }
    for key, (one, *_) in list(by_gpu.items()):
        same = numbers.get((one.node, one.sample.bus_id))
        if same is not None and one.sample.index is None:  # by another tool
            by_gpu[same] += by_gpu.pop(key)
    # The addresses of a node's GPUs in their order, which is that of local ranks.
    places: dict[str, list[str]] = defaultdict(list)
    for of_node, _, address in sorted(by_gpu):
        if ":" in address:
            places[of_node].append(address)
    found = []
    for samples in by_gpu.values():
        samples.sort(key=lambda one: one.order)
        last = samples[-1]
        index = next((one.sample.index for one in samples if one.sample.index is not None), None)
        sample = replace(last.sample, index=index)
        rank = _find_rank(case, last.node, sample, places)
        if _is_of_job(case, last.node, rank, sample):
            does = classify_activity(sample)
            before = next((one for one in reversed(samples) if _is_apart(one, last)), None)
            twice = before is not None and classify_activity(before.sample) is does
            moved = before is not None and not twice
            found.append(_GpuOfJob(last.node, rank, sample, last.artifact, does, twice, moved))
    return sorted(found, key=lambda one: (one.node or "", _make_key(one.sample)))


def _make_key(sample: GpuSample) -> tuple[str, str]:
    """What tells a GPU of a node from others; a table says it in one way throughout."""
    index = "" if sample.index is None else f"{sample.index:05d}"
    return (index, "" if index else sample.bus_id or sample.uuid or "")


def _is_apart(one: _PlacedSample, last: _PlacedSample) -> bool:
    """Whether two samples are two looks: by their times, else by their files."""
    if one.at_ns is not None and last.at_ns is not None:
        return last.at_ns - one.at_ns >= APART_NS
    return one.artifact != last.artifact


def _find_rank(
    case: LiveCase, node: str | None, sample: GpuSample, places: Mapping[str, list[str]]
) -> int | None:
    """The rank on a GPU: by its address, by its number on the node, or by the order of addresses
    where the node has as many GPUs as ranks.
    """
    if node is None:
        return None
    fleet = case.fleet
    by_bus = None if sample.bus_id is None else fleet.rank_of_gpu(node, sample.bus_id)
    if by_bus is not None:
        return by_bus
    if sample.index is not None:
        return fleet.rank_of_local(node, sample.index)
    ordered = places.get(node, [])
    if sample.bus_id in ordered and len(ordered) == len(fleet.ranks_on(node)):
        return fleet.rank_of_local(node, ordered.index(sample.bus_id))
    return None


def _is_of_job(case: LiveCase, node: str | None, rank: int | None, sample: GpuSample) -> bool:
    """Whether a GPU may be the job's: on a node that is not, or with a number that no rank of the
    job has, it is not.
    """
    if node is None or not case.fleet.seated:
        return True
    numbered = sample.index is not None and bool(case.fleet.ranks_on(node))
    return node in case.fleet.seated and (rank is not None or not numbered)


def find_odd_gpus(case: LiveCase) -> Iterator[Finding]:
    """One finding for the GPUs that do not spin while the others do, or one on nobody where all
    spin in two looks.

    Silent: where fewer than 3 spin, where many do not, where any moved between two looks.
    """
    gpus = _list_gpus(case)
    if not case.fleet.seated:
        # Without nodes that idle whole, where nothing says that they are the job's.
        active = {one.node for one in gpus if one.does is GpuActivity.SPINS}
        gpus = [one for one in gpus if one.node in active]
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
    # Few may be odd, or those of one node. Where every node has one, the job does not use them.
    nodes = {one.node for one in odd}
    share = _OF_ONE_NODE if len(nodes) == 1 and odd[0].rank is not None else _MAX_SHARE
    on_each_node = len(nodes) > 1 and nodes == {one.node for one in gpus}
    if len(odd) <= max(1.0, share * len(gpus)) and not on_each_node:
        yield _make_finding(odd, spinning)


def _make_finding(odd: Sequence[_GpuOfJob], spinning: Sequence[_GpuOfJob]) -> Finding:
    twice = all(one.twice for one in (*odd, *spinning))
    ranks = sorted(one.rank for one in odd if one.rank is not None)[:_MAX_NAMED]
    looked = " in two looks" if twice else ""
    example = spinning[0]
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
        _NAME,
        summary,
        kind=VerdictKind.HANG,
        # Hosts of several nodes do not stall at once by themselves.
        category=Category.HOST_STALL if one_host and not working else Category.NCCL_TIMEOUT,
        ranks=ranks,
        or_nodes=sorted({one.node for one in odd if one.node is not None}),
        strength=_TWO_LOOKS if twice else _ONE_LOOK,
        because=(
            *(one.explain(f"{one.place}{looked}: {one.measures}") for one in odd[:_MAX_REASONS]),
            example.explain(f"{len(spinning)} others spin: {example.place} {example.measures}"),
        ),
        of_a_moment=not twice,
        advice=advice,
    )


def _make_all_spin(spinning: Sequence[_GpuOfJob]) -> Finding:
    """Nobody's device: all wait in kernels."""
    text = f"all {len(spinning)} GPUs spin in two looks: {spinning[0].measures}"
    return make_look_claim(
        _NAME,
        f"all {len(spinning)} GPUs spin in a collective: none of them is at fault by this",
        kind=VerdictKind.HANG,
        category=Category.NCCL_TIMEOUT,
        strength=_ALL_SPIN,
        because=(spinning[0].explain(text),),
        explained_by=ANY_CAUSE | HARDWARE,
        advice="look at stacks, NCCL RAS or dumps, and at the network between the nodes",
    )
