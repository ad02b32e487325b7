"""The files of two looks at a simulated job: stacks by rank, and RAS."""

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from pathlib import Path

from simulator.files import node_name
from simulator.live.gpus import smi_csv
from simulator.live.ras import address_of, ras_json
from simulator.live.reasons import reason_of
from simulator.live.stacks import pid_of, py_spy_text
from simulator.live.standing import Stands, standing_of
from simulator.play import Played

LIVE_SOURCES = ("stacks", "ras", "gpus")
APART_S = 30


def write_live(
    folder: Path,
    played: Played,
    at_ns: int,
    sources: Collection[str],
    *,
    category: str = "host_stall",
    address: Callable[[int], str] = address_of,
    name: Callable[[int], str] = lambda node: node_name(node, 1),
) -> None:
    """Write ``sources`` of :data:`LIVE_SOURCES` under ``folder``, twice, 30 s apart.

    ``at_ns`` is the first look; ``address`` and ``name`` give those of a node by its number.
    A job that stands is the same in both.
    """
    request = played.request
    for look in range(2):
        now_ns = at_ns + look * APART_S * 10**9
        at = datetime.fromtimestamp(now_ns // 10**9, UTC)
        stamp = at.strftime("%Y%m%d_%H%M%S")
        if "stacks" in sources:
            own = folder / "stacks" / f"look_{stamp}"
            own.mkdir(parents=True, exist_ok=True)
            reason = reason_of(request.chance("reason"), category)
            for rank in range(request.shape.ranks):
                standing = standing_of(played, rank, look)
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
        if "gpus" in sources:
            _write_gpus(folder, played, at, look, name)
        if "ras" in sources:
            (folder / "ras").mkdir(parents=True, exist_ok=True)
            text = ras_json(played, now_ns, look, address=address)
            (folder / "ras" / f"ras_{stamp}.json").write_text(text, encoding="utf-8")


def _write_gpus(
    folder: Path, played: Played, at: datetime, look: int, name: Callable[[int], str]
) -> None:
    """``nvidia-smi`` on each node."""
    request = played.request
    per_node = request.gpus_per_node
    for node in range(0, request.shape.ranks, per_node):
        own = folder / "nodes" / name(node // per_node)
        own.mkdir(parents=True, exist_ok=True)
        here = range(node, min(node + per_node, request.shape.ranks))
        chance = request.chance(f"gpus/{node}/{at}")
        text = smi_csv([standing_of(played, rank, look).stands for rank in here], at, chance)
        (own / f"nvidia-smi_{at:%Y%m%d_%H%M%S}.csv").write_text(text, encoding="utf-8")
