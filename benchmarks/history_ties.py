"""Tied suspects with and without history: what a node's standing adds to the first place.

Incidents of the Llama 3 table with part of their files left out, so that some end in a tie. Of
the guilty nodes as many are known lemons as such a fleet would have (their part in all hardware
interruptions, times the recall of `benchmarks.lemons`), and of the innocent ones the usual
share. A tie is two first suspects of one role and category that history may exchange.
Status 1 where history made the first place worse, or convicted or cordoned anybody.

    python -m benchmarks.history_ties [--count 200] [--missing 0.5] [--seed 11]
"""

import argparse
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.campaign_cases import Expected, of_simulated
from benchmarks.campaign_outcome import judged
from benchmarks.table import aligned, machine
from simulator.campaign import Campaign, draw
from simulator.fleet.wish import lemon_factor
from simulator.incidents.whole import Wish
from triage.analysis.answer import build_answer, weigh_incident
from triage.analysis.explain import drop_artifact
from triage.analysis.joining.history import EQUAL, EXCHANGED, NEARLY
from triage.domain.category import Role
from triage.domain.report import Answer
from triage.domain.standing import Grade, Prior
from triage.errors import TriageError
from triage.formats.gather import gather

_SHARE = 0.013
# (how many times as often a lemon fails, recall of `lemon` there): rows of `benchmarks.lemons`,
# the first of its fleets like real ones.
_FLEETS = ((5.6, 0.02), (50.0, 0.828), (lemon_factor(), 0.985))


@dataclass(frozen=True, slots=True)
class Pair:
    """One incident without and with history; the guilty ones first or not."""

    tied: bool
    guilty: bool
    before: bool
    after: bool
    moved: bool
    harmed: bool


def main() -> int:
    """Draw, analyse twice, compare."""
    options = _arguments()
    print(f"{machine()}; {options.count} incidents, {options.missing:.0%} of files left out,"
          f" seed {options.seed}\n")  # fmt: skip
    rows, worse = [], False
    told: dict[float, list[Pair]] = {factor: [] for factor, _ in _FLEETS}
    for pairs in _compared(options):
        for (factor, _), pair in zip(_FLEETS, pairs, strict=True):
            told[factor].append(pair)
    for factor, pairs in told.items():
        for name, kept in (
            ("all with a guilty node", [one for one in pairs if one.guilty]),
            ("of these tied", [one for one in pairs if one.guilty and one.tied]),
        ):
            rows.append(_row_of(factor, name, kept))
        before = sum(one.before for one in pairs if one.guilty)
        worse |= sum(one.after for one in pairs if one.guilty) < before
        worse |= any(one.harmed for one in pairs)
    print(aligned(_HEAD, rows))
    return int(worse)


def _arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--ranks", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--missing", type=float, default=0.5, help="part of files left out")
    return parser.parse_args()


def _compared(options: argparse.Namespace) -> Iterator[list[Pair]]:
    """For each incident one pair for each fleet."""
    chance = random.Random(f"history/{options.seed}")
    with tempfile.TemporaryDirectory() as scratch:
        healthy = options.count // 10
        campaign = Campaign(options.count, healthy, options.seed, options.ranks)
        drawn = draw(Path(scratch), campaign, Wish(missing=options.missing))
        for path, truth in drawn:
            try:
                yield _pairs_of(path, of_simulated(truth), chance)
            except TriageError:
                continue
            finally:
                shutil.rmtree(path)


def _pairs_of(path: Path, right: Expected, chance: random.Random) -> list[Pair]:
    inputs, dumps, logs, facts, notes = gather([path], None, None)

    def answered(priors: dict[str, Prior]) -> Answer:
        known = replace(facts, standings=priors)
        own = drop_artifact(logs, None)  # weighing leaves notes in what it is given
        return build_answer(
            weigh_incident(dumps, own, known), dumps, own, known, inputs.refused, notes
        )

    plain = answered({})
    names = sorted(
        {*facts.nodes, *facts.rank_to_node.values()}
        | {one.node for one in plain.suspects if one.node is not None}
    )
    guilty = right.nodes
    found = []
    for factor, recall in _FLEETS:
        of_lemons = _SHARE * factor / (1 - _SHARE + _SHARE * factor)
        priors = {
            node: Prior(Grade.LEMON, "a lemon of the benchmark")
            for node in names
            if chance.random() < recall * (of_lemons if node in guilty else _SHARE)
        }
        told = answered(priors)
        found.append(
            Pair(
                tied=_tied(plain), guilty=bool(guilty), before=_first_right(plain, right),
                after=_first_right(told, right), moved=_order(plain) != _order(told),
                harmed=_harmed(plain, told),
            )
        )  # fmt: skip
    return found


def _first_right(answer: Answer, right: Expected) -> bool:
    return judged(answer.to_dict(), right, 0.0).node1


def _order(answer: Answer) -> list[str | None]:
    return [one.node for one in answer.suspects]


def _tied(answer: Answer) -> bool:
    """Whether history may exchange the first two."""
    if len(answer.suspects) < 2:
        return False
    one, other = answer.suspects[:2]
    apart = NEARLY if one.role is Role.POSSIBLE else EQUAL
    same = (one.role, one.category) == (other.role, other.category)
    return same and one.category in EXCHANGED and one.score - other.score <= apart


def _harmed(plain: Answer, told: Answer) -> bool:
    """Whether history did what it may not: name, convict, cordon, or turn the verdict."""
    was, now = plain.verdict, told.verdict
    same = (was.category, was.confidence) == (now.category, now.confidence)
    roles = {one.node: one.role for one in plain.suspects}
    alike = roles == {one.node: one.role for one in told.suspects}
    return not (same and alike and set(was.cordon) == set(now.cordon))


_HEAD = ("a lemon fails", "incidents", "number", "top-1 without", "top-1 with", "moved", "harmed")


def _row_of(factor: float, name: str, pairs: Sequence[Pair]) -> tuple[str, ...]:
    """One line of the table."""
    num = len(pairs)
    part = [sum(one.before for one in pairs), sum(one.after for one in pairs)]
    return (
        f"{factor:.0f} times", name, str(num),
        *(f"{one / num:.1%}" if num else "-" for one in part),
        str(sum(one.moved for one in pairs)), str(sum(one.harmed for one in pairs)),
    )  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
