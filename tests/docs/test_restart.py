"""The policy of restarts that the page shows is the policy."""

import re
from typing import Final

import pytest

from tests.docs.pages import page
from triage.analysis.restart.policy import POLICIES
from triage.domain.category import Category

ROWS: Final = page("on-call.md").partition("### Categories")[2].partition("\n### ")[0].splitlines()


@pytest.mark.parametrize("category", list(Category))
def test_the_page_names_each_category_with_its_decision(category: Category) -> None:
    policy = POLICIES[category]
    (row,) = [row for row in ROWS if re.match(rf"\| [^|]*`{category}`[^|]*\|", row)]

    assert row.endswith(f"| {policy.decision} | {policy.retries} |")
