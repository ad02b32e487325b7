"""What each GPU of a job did in the last two looks at it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from triage.analysis.live.case import LiveCase
from triage.analysis.live.gpus.gpu_activity import GpuActivity, classify_activity
from triage.domain.live.look import GpuSample, Look

# Samples that are nearer than this are one look.
_APART_NS: Final = 20 * 1_000_000_000


@dataclass(frozen=True, slots=True)
class GpuOfJob:
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


@dataclass(frozen=True, slots=True)
class _PlacedSample:
    """A sample with its node, in the order of time: its own, that of its look, else the name."""

    sample: GpuSample
    node: str | None
    artifact: str
    at_ns: int | None

    @property
    def order(self) -> tuple[int, str, int]:
        return (self.at_ns or 0, self.artifact, self.sample.line or 0)


def list_gpus(case: LiveCase) -> list[GpuOfJob]:
    """The GPUs that looks tell of, by node and number; those that are known not to be the job's
    are left out.
    """
    by_gpu: dict[tuple[str, ...], list[_PlacedSample]] = defaultdict(list)
    for look in case.looks:
        for sample in look.gpus:
            placed = _PlacedSample(
                sample,
                _find_node(case, look, sample),
                look.artifact,
                sample.at_ns or look.stamp.wall_ns,
            )
            by_gpu[_make_key(placed)].append(placed)
    numbers: dict[tuple[str | None, str | None], tuple[str, ...]] = {
        (one.node, one.sample.bus_id): key
        for key, samples in by_gpu.items()
        for one in samples
        if one.sample.bus_id is not None and one.sample.index is not None
    }
    for key in [key for key, (one, *_) in by_gpu.items() if one.sample.index is None]:
        same = numbers.get((by_gpu[key][0].node, by_gpu[key][0].sample.bus_id))
        if same is not None:  # another tool says the number of this address
            by_gpu[same] += by_gpu.pop(key)
    places = _order_addresses(by_gpu)
    found = [
        _make_gpu(case, sorted(samples, key=lambda one: one.order), places)
        for samples in by_gpu.values()
    ]
    ours = [one for one in found if _is_of_job(case, one)]
    return sorted(ours, key=lambda one: (one.node or "", _make_sample_key(one.sample)))


def _order_addresses(keys: Iterable[tuple[str, ...]]) -> dict[str, list[str]]:
    """Node -> the addresses of its GPUs in their order, which is that of local ranks."""
    found: dict[str, list[str]] = defaultdict(list)
    for node, _, address in sorted(keys):
        if ":" in address:
            found[node].append(address)
    return found


def _find_node(case: LiveCase, look: Look, sample: GpuSample) -> str | None:
    named = sample.node or look.node or case.homes.of(look.artifact)
    return None if named is None else case.fleet.node_of_address(named) or named


def _make_key(one: _PlacedSample) -> tuple[str, ...]:
    return (one.node or "", *_make_sample_key(one.sample))


def _make_sample_key(sample: GpuSample) -> tuple[str, ...]:
    """What tells a GPU of a node from others; a table says it in one way throughout."""
    index = "" if sample.index is None else f"{sample.index:05d}"
    return (index, "" if index else sample.bus_id or sample.uuid or "")


def _make_gpu(
    case: LiveCase, samples: list[_PlacedSample], places: Mapping[str, list[str]]
) -> GpuOfJob:
    """One GPU by its samples, the last at the end."""
    last = samples[-1]
    index = next((one.sample.index for one in samples if one.sample.index is not None), None)
    sample = replace(last.sample, index=index)
    does = classify_activity(sample)
    before = next((one for one in reversed(samples[:-1]) if _is_apart(one, last)), None)
    same = before is not None and classify_activity(before.sample) is does
    return GpuOfJob(
        last.node,
        _find_rank(case, last.node, sample, places),
        sample,
        last.artifact,
        does,
        twice=same,
        moved=before is not None and not same,
    )


def _is_apart(one: _PlacedSample, last: _PlacedSample) -> bool:
    """Whether two samples are two looks: by their times, else by their files."""
    if one.at_ns is not None and last.at_ns is not None:
        return last.at_ns - one.at_ns >= _APART_NS
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


def _is_of_job(case: LiveCase, one: GpuOfJob) -> bool:
    """Whether a GPU may be the job's: on a node that is not, or with a number that no rank of the
    job has, it is not.
    """
    if one.node is None or not case.fleet.seated:
        return True
    if one.node not in case.fleet.seated:
        return False
    numbered = one.sample.index is not None and bool(case.fleet.ranks_on(one.node))
    return one.rank is not None or not numbered
