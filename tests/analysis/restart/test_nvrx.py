"""NVIDIA's 38 categories of failure beside ours: each row is what the policy decides."""

import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from triage.analysis.restart.decide import StopCause, decide_restart
from triage.analysis.restart.policy import EXCEPTIONS, POLICIES
from triage.domain.category import Action, Category, Role, VerdictKind
from triage.domain.report import Because, Suspect, Verdict

ROWS: Final = tomllib.loads((Path(__file__).parent / "nvrx.toml").read_text("utf-8"))["category"]
GOES_ON: Final = ("restart", "restart_without", "wait")


def decision(category: Category, signature: str) -> str:
    kind = VerdictKind.HEALTHY if category is Category.NONE else VerdictKind.CRASH
    suspect = Suspect(
        1, "n3", (), (), category, 0.95, Role.CULPRIT, Action.INVESTIGATE, (Because("d", "t"),)
    )
    verdict = Verdict(kind, category, 0.95, "It stopped.", Action.INVESTIGATE)
    cause = StopCause((signature,) if signature else ())
    found = decide_restart(verdict, [suspect], 64, cause)
    return "absent" if found is None else str(found.decision)


def agrees(row: dict[str, Any]) -> bool:
    return (row["ours"] in GOES_ON) if row["theirs"] == "RESTART" else row["ours"] == "stop"


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_each_is_a_category_of_ours_with_its_decision(row: dict[str, Any]) -> None:
    category, signature = Category(row["category"]), row.get("signature", "")

    if category is Category.NONE and row["ours"] == "restart":
        assert POLICIES[category].decision == "restart"
    else:
        assert decision(category, signature) == row["ours"]
    assert not signature or signature in EXCEPTIONS or POLICIES[category].decision == row["ours"]
    assert agrees(row) or row["why"]


def test_all_38_are_there_and_26_of_35_agree() -> None:
    decided = [row for row in ROWS if row["theirs"] != "EXCLUDED"]

    assert (len(ROWS), len(decided), sum(map(agrees, decided))) == (38, 35, 26)
