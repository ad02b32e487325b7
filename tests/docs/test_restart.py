"""The page about restarts: the policy as it is, and NVIDIA's 38 categories beside ours."""

import re
from typing import Final

import pytest

from tests.docs.pages import page
from triage.analysis.restart.decide import StopCause, restart_of
from triage.analysis.restart.policy import EXCEPTIONS, POLICIES
from triage.domain.category import HARDWARE, Action, Category, Role, VerdictKind
from triage.domain.report import Because, Suspect, Verdict

TEXT: Final = page("restart.md")
ROW: Final = re.compile(
    r"^\| (\d+) \| ([^|]+) \| (RESTART|STOP|EXCLUDED) \| `(\w+)` \| (?:`([\w.]+)`)? ?\|"
    r" (\w+) \|([^|]*)\|$",
    re.M,
)
ROWS: Final = ROW.findall(TEXT)
GOES_ON: Final = ("restart", "restart_without", "wait")


def decision(category: Category, signature: str) -> str:
    kind = VerdictKind.HEALTHY if category is Category.NONE else VerdictKind.CRASH
    suspect = Suspect(
        1, "n3", (), (), category, 0.95, Role.CULPRIT, Action.INVESTIGATE, (Because("d", "t"),)
    )
    verdict = Verdict(kind, category, 0.95, "It stopped.", Action.INVESTIGATE)
    cause = StopCause((signature,) if signature else ())
    found = restart_of(verdict, [suspect], 64, cause)
    return "absent" if found is None else str(found.decision)


def test_all_38_are_there() -> None:
    assert [int(row[0]) for row in ROWS] == list(range(1, 39))


@pytest.mark.parametrize("row", ROWS, ids=[row[1] for row in ROWS])
def test_each_is_a_category_of_ours_with_its_decision(row: tuple[str, ...]) -> None:
    _, _, theirs, name, signature, ours, difference = row
    category = Category(name)

    if category is Category.NONE and ours == "restart":
        assert POLICIES[category].decision == "restart"
    else:
        assert decision(category, signature) == ours
    assert not signature or signature in EXCEPTIONS or POLICIES[category].decision == ours
    agrees = ours in GOES_ON if theirs == "RESTART" else ours == "stop"
    assert agrees or difference.strip()


def test_the_number_of_differences_is_that_of_the_page() -> None:
    decided = [row for row in ROWS if row[2] != "EXCLUDED"]
    same = [row for row in decided if (row[5] in GOES_ON) is (row[2] == "RESTART")
            and row[5] != "absent"]  # fmt: skip

    assert f"agree on {len(same)} of the {len(decided)} that" in TEXT


@pytest.mark.parametrize("category", [one for one in Category if one not in HARDWARE])
def test_the_page_names_each_category_with_its_decision(category: Category) -> None:
    policy = POLICIES[category]
    rows = [line for line in TEXT.splitlines() if re.match(rf"\|.*`{category}`[^|]*\|", line)]

    assert any(f"| {policy.decision} | {policy.retries} |" in line for line in rows)


def test_the_page_names_all_hardware_in_one_row() -> None:
    row = next(line for line in TEXT.splitlines() if line.startswith("| `gpu`"))

    assert set(re.findall(r"`(\w+)`", row)) == set(HARDWARE)
    assert "| restart_without | 3 |" in row
