"""Patterns of one's own: replaced as known secrets are, and refused where they could do harm."""

from pathlib import Path

import pytest

from triage.errors import UsageError
from triage.parsers.redact.own import own_patterns
from triage.parsers.redact.redact import Redactor
from triage.services.uploads.received import redact_facts

PATTERNS = """
corp-token = 'corp-[0-9a-f]{8}'
badge = 'badge=(?P<secret>[0-9]{6})'
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "patterns.toml"
    path.write_text(PATTERNS)
    return str(path)


def redacted(file: str, *pieces: bytes) -> tuple[bytes, dict[str, int]]:
    redactor = Redactor(own_patterns(file))
    out = b"".join(redactor.feed(piece) for piece in pieces) + redactor.finish()
    return out, redactor.counts


def test_what_they_match_is_replaced_and_counted(file: str) -> None:
    text = b"a corp-01234567 b\nbadge=123456 \xff badge=12345\ncorp-0123456\ncorp-89abcdef"
    out, counts = redacted(file, text)
    assert out == (
        b"a [redacted:corp-token] b\nbadge=[redacted:badge] \xff badge=12345\ncorp-0123456\n"
        b"[redacted:corp-token]"
    )
    assert counts == {"corp-token": 2, "badge": 1}


def test_it_does_not_matter_where_the_pieces_were_cut(file: str) -> None:
    text = b"x" * 70 + b" corp-01234567\n" + b"step 1\n" * 50_000 + b"corp-89abcdef\n"
    whole = redacted(file, text)
    for size in (9_973, 60_000):
        assert redacted(file, *(text[k : k + size] for k in range(0, len(text), size))) == whole
    assert whole[1] == {"corp-token": 2}


def test_a_pattern_reaches_over_no_line(tmp_path: Path) -> None:
    path = tmp_path / "greedy.toml"
    path.write_text("greedy = 'a[^b]*c'")
    assert redacted(str(path), b"a\nc a1c\n")[0] == b"a\nc [redacted:greedy]\n"


def test_without_a_file_nothing_changes() -> None:
    assert redacted("", b"corp-01234567")[0] == b"corp-01234567"


def test_facts_are_cleaned_too(file: str) -> None:
    facts = {"name": "run corp-01234567", "env": {"A": ["badge=123456"]}, "world_size": 8}
    assert redact_facts(facts, own_patterns(file)) == {
        "name": "run [redacted:corp-token]",
        "env": {"A": ["badge=[redacted:badge]"]},
        "world_size": 8,
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = '(a+)+\\1'", "no pattern of RE2"),
        ("x = 'a(?=b)'", "no pattern of RE2"),
        ("x = 'a*'", "matches nothing at all"),
        ("x = ''", "text of 1 to 1000"),
        ("x = 5", "text of 1 to 1000"),
        ("'A B' = 'abc'", "is no name"),
        ("x = ", "cannot be read"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_place(
    tmp_path: Path, text: str, why: str
) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=why) as caught:
        own_patterns(str(path))
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        own_patterns("/nowhere/patterns.toml")
