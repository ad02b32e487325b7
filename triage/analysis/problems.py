"""Problems: incidents that are the same kind of failure, grouped.

Fingerprints within :data:`MAX_DISTANCE` of each other are of one problem, and so is what a chain
of such links: single linkage by cosine distance, for each cluster and stratum by itself. What a
person has put together or apart stays so. Neither the order of the incidents nor a second run
changes the result.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from triage.analysis.fingerprint import MAX_DISTANCE, PART, Fingerprint, Stratum, measure_distance

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Distances to all points are worked out for so many at once.
_CHUNK: Final = 256


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An incident and the problem that it is of by now; ``by_hand``: a person has said so.

    ``cluster`` is what the incident is grouped within. Ids of incidents sort by time.
    """

    incident_id: str
    cluster: int
    fingerprint: Fingerprint
    problem: str | None = None
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """Incidents of one kind, oldest first; ``id`` is None for one that is new."""

    id: str | None
    incident_ids: tuple[str, ...]


def find_nearest(wanted: Fingerprint, known: Iterable[Occurrence]) -> str | None:
    """The problem of the nearest of ``known``, the oldest of equals; None for a kind of its own."""
    near = min(
        (
            (measure_distance(wanted, one.fingerprint), one.incident_id, one.problem)
            for one in known
        ),
        default=None,
    )
    return None if near is None or near[0] > MAX_DISTANCE else near[2]


def group_incidents(occurrences: Iterable[Occurrence]) -> list[Problem]:
    """The problems of these incidents, those with the oldest incidents first.

    A problem keeps its id while it has the most of its incidents.
    """
    strata: dict[tuple[int, Stratum], list[Occurrence]] = defaultdict(list)
    for one in sorted(occurrences, key=lambda one: one.incident_id):
        strata[one.cluster, one.fingerprint.stratum].append(one)
    by_hand: dict[str, list[Occurrence]] = defaultdict(list)
    found: list[list[Occurrence]] = []
    for members in strata.values():
        for linked in _link_neighbours(members):
            for problem, these in _split_by_hand(linked):
                if problem is None:
                    found.append(these)
                else:
                    by_hand[problem] += these
    kept = _match_ids(found, by_hand)
    groups = [*by_hand.items(), *((kept.get(k), these) for k, these in enumerate(found))]
    problems = [Problem(name, tuple(sorted(one.incident_id for one in these)))
                for name, these in groups]  # fmt: skip
    return sorted(problems, key=lambda one: one.incident_ids)


def _link_neighbours(members: Sequence[Occurrence]) -> list[list[Occurrence]]:
    """The incidents of one cluster and stratum that links of small distance hold together."""
    # Those that differ in the part of the node alone are near, and one point.
    points: dict[frozenset[tuple[str, float]], list[Occurrence]] = defaultdict(list)
    for one in members:
        features = one.fingerprint.features.items()
        points[frozenset(item for item in features if not item[0].startswith(PART))].append(one)
    linked: dict[int, list[Occurrence]] = defaultdict(list)
    for label, these in zip(_find_components(points.values()), points.values(), strict=True):
        linked[label] += these
    return list(linked.values())


def _find_components(points: Collection[Sequence[Occurrence]]) -> list[int]:
    """The same number for points that are linked.

    It is what DBSCAN answers where one point is dense enough, without all neighbours in memory.
    """
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from sklearn.feature_extraction import FeatureHasher
    from sklearn.preprocessing import normalize

    # One row for each point, the sum of the features of its incidents.
    hasher = FeatureHasher(n_features=1 << 20, input_type="pair")
    rows_of: csr_array = hasher.transform(
        [item for one in these for item in one.fingerprint.features.items()] for these in points
    )
    places = normalize(rows_of)
    size = len(points)
    labels = np.arange(size)
    for start in range(0, size, _CHUNK):
        near = (places[start : start + _CHUNK] @ places.T).tocoo()
        close = near.data >= 1.0 - MAX_DISTANCE
        # What is linked by now hangs together by the first point of each component.
        _, first, of = np.unique(labels, return_index=True, return_inverse=True)
        rows = np.concatenate((near.row[close] + start, np.arange(size)))
        columns = np.concatenate((near.col[close], first[of]))
        graph = coo_array((np.ones(len(rows), bool), (rows, columns)), shape=(size, size))
        labels = connected_components(graph, directed=False)[1]
    return list(map(int, labels))


def _split_by_hand(
    linked: Sequence[Occurrence],
) -> Iterator[tuple[str | None, list[Occurrence]]]:
    """(the problem that a person has named, its incidents); None where no person named any.

    What nobody has placed goes with the nearest that somebody has.
    """
    placed = [one for one in linked if one.by_hand]
    if not placed:
        yield None, list(linked)
        return
    of_problem: dict[str, list[Occurrence]] = defaultdict(list)
    only = {one.problem for one in placed}
    for one in linked:
        if one.by_hand or len(only) == 1:
            nearest = one if one.by_hand else placed[0]
        else:
            nearest = min(
                placed,
                key=lambda other: (
                    measure_distance(one.fingerprint, other.fingerprint),
                    other.incident_id,
                ),
            )
        of_problem[str(nearest.problem)].append(one)
    yield from of_problem.items()


def _match_ids(found: Sequence[Sequence[Occurrence]], unavailable: Iterable[str]) -> dict[int, str]:
    """Which group keeps which id: the one that has the most of its incidents."""
    gone = set(unavailable)
    shares = sorted(
        (-number, name, k)
        for k, these in enumerate(found)
        for name, number in Counter(one.problem for one in these if one.problem).items()
    )
    kept: dict[int, str] = {}
    for _, name, k in shares:
        if name not in gone and k not in kept:
            kept[k] = name
            gone.add(name)
    return kept
