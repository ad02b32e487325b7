"""Trouble that has nothing to do with an incident."""

from dataclasses import dataclass

from simulator.incidents.driver_lines import banner, xid
from simulator.incidents.host_lines import edac_storm, link_down
from simulator.incidents.story import Story
from simulator.incidents.world import SECOND, Node

_HOUR = 3600.0
_DAY = 86_400.0


def stray(story: Story) -> None:
    """Trouble that has nothing to do with the incident: old, corrected, recovered, of others."""
    chance, world = story.chance, story.world
    guilty = set(story.culprit_nodes) | {story.node.index}
    innocent = [node for node in world.nodes if node.index not in guilty]
    for _ in range(min(len(innocent), chance.choice((0, 1, 1, 2, 3)))):
        node = chance.choice(innocent)
        _one_stray(story, node, chance.randrange(len(_WAYS)))
    if chance.random() < 0.3 and story.node.index not in story.silent_nodes:
        _one_stray(story, story.node, chance.choice((2, 3, 4)))
    if chance.random() < 0.25:
        # Somebody's script prints an old kernel line into the job's log.
        rank = chance.randrange(world.ranks)
        old = xid(story, 79, "GPU has fallen off the bus.", bus=chance.choice(story.node.buses))
        story.log_rank(
            -chance.uniform(600, 3000),
            rank,
            story.pick(
                f"[health] last night's ticket INC-88213 (fixed, node replaced): '{old}'",
                f'runbook: if dmesg shows "{old}" then drain the node',
            ),
        )


@dataclass(frozen=True, slots=True)
class _Stray:
    """Trouble on ``node``; ``old_s`` and ``recent_s`` are days and hours before the fault, < 0."""

    story: Story
    node: Node
    uptime_s: float
    old_s: float
    recent_s: float
    bus: str


def _one_stray(story: Story, node: Node, way: int) -> None:
    chance = story.chance
    uptime_s = (story.fault_ns - node.boot_ns) / SECOND
    old_s = -min(chance.uniform(2 * _DAY, 8 * _DAY), 0.9 * uptime_s)
    recent_s = -min(chance.uniform(2 * _HOUR, 20 * _HOUR), 0.8 * uptime_s)
    _WAYS[way](_Stray(story, node, uptime_s, old_s, recent_s, chance.choice(node.buses)))


def _old_xid(stray: _Stray) -> None:
    """A GPU failed days ago and was reset."""
    story, node, old_s = stray.story, stray.node, stray.old_s
    story.log_kernel(old_s, *banner(story, stray.bus), node=node, level=5)
    code = story.chance.choice((79, 119, 48, 74, 95))
    text = story.pick("GPU has fallen off the bus.", "Timeout waiting for RPC from GSP!")
    story.log_kernel(old_s, xid(story, code, text, bus=stray.bus), node=node)
    if stray.uptime_s + old_s > 7200:
        version = story.world.driver_text
        text = f"NVRM: loading NVIDIA UNIX x86_64 Kernel Module  {version}"
        text += "  Thu Jul 11 22:00:14 UTC 2024"
        story.log_kernel(old_s + 3600, text, node=node, level=5)


def _another_program(stray: _Stray) -> None:
    """Another job's kernel wrote out of range."""
    story, node, bus = stray.story, stray.node, stray.bus
    for turn in range(story.chance.randrange(3, 12)):
        gpc, tpc, sm = (story.chance.randrange(7) for _ in range(3))
        where = f"(GPC {gpc}, TPC {tpc}, SM {sm})"
        text = f"Graphics SM Warp Exception on {where}: Out Of Range Address"
        line = xid(story, 13, text, bus=bus)
        story.log_kernel(stray.recent_s + turn * 0.01, line, node=node)
    line = xid(story, 43, f"Ch {story.hexa()}", bus=bus)
    story.log_kernel(stray.recent_s + 2.0, line, node=node)


def _corrected_memory(stray: _Stray) -> None:
    """Errors of a memory module, all corrected."""
    edac_storm(stray.story, stray.recent_s, corrected=True, node=stray.node)


def _corrected_pcie(stray: _Stray) -> None:
    """Errors of a PCIe link, all corrected."""
    story, since_s = stray.story, stray.recent_s
    port = f"0000:{story.chance.randrange(16, 200):02x}:01.0"
    speaker = f"pcieport {port}:"
    for turn in range(story.chance.randrange(2, 40)):
        at = since_s + 61 * turn
        story.log_kernel(
            at if at < -60 else since_s,
            f"{speaker} AER: {story.pick('Corrected', 'Correctable')} error received: {port}",
            f"{speaker} PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
            f"{speaker}    [ 0] RxErr",
            node=stray.node,
            level=4,
        )


def _link_came_back(stray: _Stray) -> None:
    """A link was down for seconds."""
    back_s = stray.story.chance.uniform(2, 40)
    link_down(stray.story, stray.recent_s, stray.node, back_s=back_s, root=False)


def _another_fault(stray: _Stray) -> None:
    """Another job's kernel touched memory that is not mapped."""
    story, node, bus = stray.story, stray.node, stray.bus
    text = (
        f"Ch {story.hexa()}, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC2 GPCCLIENT_T1_0 faulted "
        "@ 0x7f4a_18414000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
    )
    story.log_kernel(stray.recent_s, xid(story, 31, text, bus=bus), node=node)
    line = xid(story, 45, f"Ch {story.hexa()}", bus=bus)
    story.log_kernel(stray.recent_s + 0.2, line, node=node)


def _warm_processor(stray: _Stray) -> None:
    """A processor was throttled for a second."""
    chance = stray.story.chance
    stray.story.log_kernel(
        stray.recent_s,
        f"mce: CPU{chance.randrange(96)}: Core temperature above threshold, cpu clock "
        f"throttled (total events = {chance.randrange(1, 90)})",
        f"mce: CPU{chance.randrange(96)}: Core temperature/speed normal",
        node=stray.node,
        level=4,
        step_s=1.0,
    )


def _slow_server(stray: _Stray) -> None:
    """A file server was slow, days ago."""
    for seconds, text in ((0.0, "not responding, still trying"), (9.0, "OK")):
        line = f"nfs: server filer01 {text}"
        stray.story.log_kernel(stray.old_s + seconds, line, node=stray.node, level=5)


_WAYS = (
    _old_xid,
    _another_program,
    _corrected_memory,
    _corrected_pcie,
    _link_came_back,
    _another_fault,
    _warm_processor,
    _slow_server,
)
