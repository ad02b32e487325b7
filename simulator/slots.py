"""The parts of a job a rank can belong to: one process group per slot and rank.

A slot is a role, not a group: slot ``TP`` is a different group on different
ranks. The order of the slots is the order in which a rank creates its groups,
so a rank's process-local ``pg_id`` counts the slots that it has.
"""

from enum import IntEnum


class Slot(IntEnum):
    """Default group, tensor, data, pipeline and expert parallel, and a late one."""

    DEFAULT = 0
    TP = 1
    DP = 2
    PP = 3
    EP = 4
    LATE = 5


NUM_SLOTS = len(Slot)

DESC = {
    Slot.DEFAULT: "default_pg",
    Slot.TP: "mesh_tp",
    Slot.DP: "mesh_dp",
    Slot.PP: "mesh_pp",
    Slot.EP: "mesh_ep",
    Slot.LATE: "mesh_late",
}
"""``group_desc`` as PyTorch's device mesh and the default group give it."""
