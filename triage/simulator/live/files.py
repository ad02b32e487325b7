"""The files of two looks at a simulated job: stacks by rank, and RAS."""

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from pathlib import Path

from triage.simulator.live.ras import address_of, ras_json
from triage.simulator.live.reasons import reason_of
from triage.simulator.live.stacks import pid_of, py_spy_text
from triage.simulator.live.standing import Stands, standing_of
from triage.simulator.play import Played

__all__ = ["APART_S", "LIVE_SOURCES", "write_live"]

LIVE_SOURCES = ("stacks", "ras")
APART_S = 30


def write_live(
    folder: Path,
    played: Played,
    at_ns: int,
    sources: Collection[str],
    *,
    category: str = "host_stall",
    address: Callable[[int], str] = address_of,
) -> None:
    """Write ``sources`` of :data:`LIVE_SOURCES` under ``folder``, twice, 30 s apart.

    ``at_ns`` is the first look. A job that stands is the same in both.
    """
    request = played.request
    for look in range(2):
        now_ns = at_ns + look * APART_S * 10**9
        stamp = datetime.fromtimestamp(now_ns // 10**9, UTC).strftime("%Y%m%d_%H%M%S")
        if "stacks" in sources:
            own = folder / "stacks" / f"look_{stamp}"
            own.mkdir(parents=True, exist_ok=True)
            reason = reason_of(request.chance("reason"), category)
            for rank in range(request.shape.ranks):
                standing = standing_of(played, rank)
                if standing.stands is Stands.GONE:
                    continue
                text = py_spy_text(
                    standing,
                    pid_of(rank, request.gpus_per_node),
                    reason,
                    request.chance(f"threads/{rank}"),
                    run_ahead=request.run_ahead,
                )
                (own / f"rank_{rank}.txt").write_text(text, encoding="utf-8")
        if "ras" in sources:
            (folder / "ras").mkdir(parents=True, exist_ok=True)
            text = ras_json(played, now_ns, address=address)
            (folder / "ras" / f"ras_{stamp}.json").write_text(text, encoding="utf-8")
