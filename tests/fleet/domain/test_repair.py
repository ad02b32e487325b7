"""Notes of repairs as actions: the one that changes most, and notes that say nothing of any."""

import pytest

from triage.fleet.domain.cause import RepairAction, classify_repair_action


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("GPU 3 replaced, rebooted", RepairAction.SWAP_GPU),
        ("DIMM error; cable replaced", RepairAction.SWAP_CABLE),
        ("HGX baseboard RMA", RepairAction.SWAP_BOARD),
        ("new DIMM installed", RepairAction.SWAP_MEMORY),
        ("swapped whole node", RepairAction.SWAP_NODE),
        ("reseated GPU 4 and rebooted", RepairAction.RESEAT),
        ("power cycled", RepairAction.REBOOT),
        ("firmware updated", RepairAction.REINSTALL),
        ("returned, no fault found", RepairAction.NONE),
        ("swap_cable", RepairAction.SWAP_CABLE),
        ("node changed to drain", None),
        ("replaced by job 77", None),
        ("GPU fell off the bus", None),
        ("", None),
    ],
)
def test_a_note_says_what_was_done(text: str, action: RepairAction | None) -> None:
    assert classify_repair_action(text) is action
