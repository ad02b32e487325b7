"""Trouble that has nothing to do with an incident."""

from triage.simulator.incidents.driver_lines import banner, xid
from triage.simulator.incidents.host_lines import edac_storm, link_down
from triage.simulator.incidents.story import Story
from triage.simulator.incidents.world import SECOND, Node

__all__ = ["stray"]

HOUR = 3600.0
DAY = 86_400.0


def stray(story: Story) -> None:
    """Trouble that has nothing to do with the incident: old, corrected, recovered, of others."""
    chance, world = story.chance, story.world
    guilty = set(story.culprit_nodes) | {story.node.index}
    innocent = [node for node in world.nodes if node.index not in guilty]
    for _ in range(min(len(innocent), chance.choice((0, 1, 1, 2, 3)))):
        node = chance.choice(innocent)
        _one_stray(story, node, chance.randrange(8))
    if chance.random() < 0.3 and story.node.index not in story.silent_nodes:
        _one_stray(story, story.node, chance.choice((2, 3, 4)))
    if chance.random() < 0.25:
        # Somebody's script prints an old kernel line into the job's log.
        rank = chance.randrange(world.ranks)
        old = xid(story, 79, "GPU has fallen off the bus.", bus=chance.choice(story.node.buses))
        story.j(-chance.uniform(600, 3000), rank, story.pick(
            f"[health] last night's ticket INC-88213 (fixed, node replaced): '{old}'",
            f"runbook: if dmesg shows \"{old}\" then drain the node",
        ))  # fmt: skip


def _one_stray(story: Story, node: Node, way: int) -> None:
    chance = story.chance
    uptime_s = (story.fault_ns - node.boot_ns) / SECOND
    old = -min(chance.uniform(2 * DAY, 8 * DAY), 0.9 * uptime_s)
    hours = -min(chance.uniform(2 * HOUR, 20 * HOUR), 0.8 * uptime_s)
    bus = chance.choice(node.buses)
    if way == 0:
        story.k(old, banner(story, bus), node=node, level=5)
        story.k(old, xid(story, chance.choice((79, 119, 48, 74, 95)), story.pick(
            "GPU has fallen off the bus.", "Timeout waiting for RPC from GSP!"
        ), bus=bus), node=node)  # fmt: skip
        if uptime_s + old > 7200:
            story.k(old + 3600, "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  "
                    f"{story.world.driver_text}  Thu Jul 11 22:00:14 UTC 2024", node=node,
                    level=5)  # fmt: skip
    elif way == 1:
        for turn in range(chance.randrange(3, 12)):
            gpc, tpc, sm = (chance.randrange(7) for _ in range(3))
            story.k(hours + turn * 0.01, xid(
                story, 13, f"Graphics SM Warp Exception on (GPC {gpc}, TPC {tpc}, SM {sm}): "
                "Out Of Range Address", bus=bus), node=node)  # fmt: skip
        story.k(hours + 2.0, xid(story, 43, f"Ch {story.hexa()}", bus=bus), node=node)
    elif way == 2:
        edac_storm(story, hours, corrected=True, node=node)
    elif way == 3:
        port = f"0000:{chance.randrange(16, 200):02x}:01.0"
        for turn in range(chance.randrange(2, 40)):
            story.k(hours + 61 * turn if hours + 61 * turn < -60 else hours, [
                f"pcieport {port}: AER: {story.pick('Corrected', 'Correctable')} error received: "
                f"{port}",
                f"pcieport {port}: PCIe Bus Error: severity=Corrected, type=Physical Layer, "
                "(Receiver ID)",
                f"pcieport {port}:    [ 0] RxErr",
            ], node=node, level=4)  # fmt: skip
    elif way == 4:
        link_down(story, hours, node, back_s=chance.uniform(2, 40), root=False)
    elif way == 5:
        story.k(hours, xid(story, 31, f"Ch {story.hexa()}, intr 00000000. MMU Fault: ENGINE "
                           "GRAPHICS GPC2 GPCCLIENT_T1_0 faulted @ 0x7f4a_18414000. Fault is of "
                           "type FAULT_PDE ACCESS_TYPE_VIRT_READ", bus=bus), node=node)  # fmt: skip
        story.k(hours + 0.2, xid(story, 45, f"Ch {story.hexa()}", bus=bus), node=node)
    elif way == 6:
        story.k(hours, [
            f"mce: CPU{chance.randrange(96)}: Core temperature above threshold, cpu clock "
            f"throttled (total events = {chance.randrange(1, 90)})",
            f"mce: CPU{chance.randrange(96)}: Core temperature/speed normal",
        ], node=node, level=4, step_s=1.0)  # fmt: skip
    else:
        story.k(old, "nfs: server filer01 not responding, still trying", node=node, level=5)
        story.k(old + 9.0, "nfs: server filer01 OK", node=node, level=5)
