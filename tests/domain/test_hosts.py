"""Host lists: names as a list and back."""

import pytest

from triage.domain.hosts import expand, format_host_list


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["n1", "n2", "n3", "n7"], "n[1-3,7]"),
        (["n09", "n10", "n11"], "n[09-11]"),
        (["n9", "n10"], "n[9-10]"),
        (["n1", "n02"], "n[1,02]"),
        (["a", "b1", "b2", "a3"], "a,b[1-2],a3"),
        (["n3", "n1"], "n[3,1]"),
        (["n1.x", "n2.x"], "n1.x,n2.x"),
        ([], ""),
    ],
)
def test_names_as_a_host_list_read_back(names: list[str], text: str) -> None:
    assert format_host_list(names) == text
    assert expand(text) == names
