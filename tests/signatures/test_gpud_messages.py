"""Kernel messages that gpud (leptonai/gpud) matches are known here too."""

from pathlib import Path

from triage.signatures.registry import match

MESSAGES = Path(__file__).parents[1] / "data" / "gpud_messages.log"


def test_every_kernel_message_that_gpud_matches_is_known() -> None:
    lines = MESSAGES.read_text("utf-8").splitlines()

    assert len(lines) > 20
    assert [line for line in lines if match(line.partition(" kernel: ")[2]) is None] == []
