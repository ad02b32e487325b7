"""The page that compares catalogues says what the registries hold."""

import re
from pathlib import Path

from triage.formats.registry import CHECKS, FORMATS
from triage.signatures.gpu.catalogue import sxids, xids
from triage.signatures.registry import all_signatures, match

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/catalogues-compared.md").read_text("utf-8")
MESSAGES = ROOT / "tests/data/gpud_messages.log"


def test_the_counts_are_those_of_the_registries():
    roles = [str(one.role) for one in all_signatures()]
    counts = {
        "signatures of lines": len(roles),
        "of them roots": roles.count("root"),
        "of them consequences": roles.count("consequence"),
        "of them harmless": roles.count("noise"),
        "of them advice": roles.count("advice"),
        "Xid codes": len(xids()),
        "SXid codes": len(sxids()),
        "formats of files": len(FORMATS),
        "of them reports of checks": len(CHECKS),
    }
    shown = dict(re.findall(r"^\| ([A-Za-z ]+) \| (\d+) \|$", PAGE, re.MULTILINE))
    assert {name: int(shown[name]) for name in counts} == counts


def test_every_kernel_message_that_gpud_matches_is_known():
    lines = MESSAGES.read_text("utf-8").splitlines()
    assert [line for line in lines if match(line.partition(" kernel: ")[2]) is None] == []
    assert f"all {len(lines)} of them" in PAGE
