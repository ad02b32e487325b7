"""Patterns that begin with one of many words find the same as alternatives do, and cost little."""

import re
from re import _parser as parser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.parsers.redact.kinds import SECRETS
from triage.parsers.redact.redact import GATE, Redactor
from triage.parsers.redact.secret import any_word

WORDS = (rb"passw(?:or)?d", rb"pass", rb"api[ _]key", rb"secrets?", rb"sudo\]?")
FAST = re.compile(any_word(*WORDS) + rb"(?:=|: )")
PLAIN = re.compile(rb"(?i:%b)(?:=|: )" % b"|".join(WORDS))
WHOLE_WORDS = ["pass", "PassWord", "passwd", "api key", "API_KEY", "secret", "Secrets", "sudo]"]
PIECES = st.sampled_from([*WHOLE_WORDS, *"sp=aK ", ": "])


@given(st.lists(PIECES, max_size=12))
def test_any_word_matches_what_alternatives_without_case_match(pieces: list[str]) -> None:
    text = "".join(pieces).encode()
    assert [found.span() for found in FAST.finditer(text)] == [
        found.span() for found in PLAIN.finditer(text)
    ]


def test_what_a_first_letter_has_to_fulfil() -> None:
    behind_no_letter = re.compile(any_word(b"enter", b"new", after=rb"(?<![A-Za-z]{2})"))
    assert [found.start() for found in behind_no_letter.finditer(b"enter center New renew")] == [
        0,
        13,
    ]


def begins_with_letters(pattern: re.Pattern[bytes]) -> bool:
    """Whether a search may skip to bytes of one set: what has no such set, or ignores the case
    there, is tried at every byte.
    """
    flags, parsed = pattern.flags, parser.parse(pattern.pattern, pattern.flags)
    operator, argument = parsed[0]
    while operator is parser.SUBPATTERN:
        _, added, _, inside = argument
        flags |= added
        operator, argument = inside[0]
    return operator in (parser.IN, parser.LITERAL) and not flags & re.IGNORECASE


@pytest.mark.parametrize(
    ("pattern", "skips"),
    [
        (rb"[PpTt](?:(?<=[Pp])(?i:assword)|(?<=[Tt])(?i:oken))=x", True),
        (rb"(?P<name>[Pp](?i:assword))=x", True),
        (rb"-(?i:password|token)=x", True),
        (rb"(?i:password|passphrase|api key|secret|token)=x", False),
        (rb"(?i:password)=x", False),
        (rb"(?:password|token)=x", False),
        (rb"(?<![a-z])[Pp]assword=x", False),
    ],
)
def test_what_a_search_can_skip_to(pattern: bytes, skips: bool) -> None:
    assert begins_with_letters(re.compile(pattern)) is skips


def test_no_pattern_that_a_list_of_settings_meets_tries_words_at_every_byte() -> None:
    """Programs print their arguments: such lines are long, and name what could be a secret."""
    settings = b" ".join(b"optimizer.group_%d.betas=(0.9, 0.95)" % k for k in range(100))
    line = b"[rank3]: config: db_password=None tokenizer_key: llama pad_token=0 " + settings
    met = [
        secret.pattern for number, secret in enumerate(SECRETS) if GATE.whole(line) >> number & 1
    ]
    assert met
    assert [pattern for pattern in met if not begins_with_letters(pattern)] == []


def test_a_key_of_two_words_is_found_beside_another_secret() -> None:
    redactor = Redactor()
    text = b"password=a1b2c3d4xapi key: correct-horse-1 api key = hunter22\n"
    redactor.feed(text)
    assert redactor.finish() == (
        b"password=[redacted:password] key: [redacted:password] api key = [redacted:password]\n"
    )
