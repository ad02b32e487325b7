"""What the templates' filters make of times, in sentences of ours."""

import pytest

from triage.web.filters import format_timed


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("no time in it", "no time in it"),
        ("Xid 79 at 2026-11-26T14:16:33.712Z, without a repair",
         'Xid 79 at <time datetime="2026-11-26T14:16:33.712Z">2026-11-26 14:16:33 UTC</time>,'
         " without a repair"),
        ("2026-11-26T14:16:33Z (<b>)",
         '<time datetime="2026-11-26T14:16:33.000Z">2026-11-26 14:16:33 UTC</time> (&lt;b&gt;)'),
        ("2026-99-26T99:16:33Z", "2026-99-26T99:16:33Z"),
        ("2026-11-26T14:16:33", "2026-11-26T14:16:33"),
    ],
)  # fmt: skip
def test_times_in_sentences_are_elements_and_all_else_is_escaped(sentence: str, shown: str) -> None:
    assert format_timed(sentence) == shown
