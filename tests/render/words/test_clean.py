"""Clean and wrap: no text of the input drives a terminal or leaves its line."""

import unicodedata
from collections.abc import Callable

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.api.answers.json import make_json_response
from triage.render.data.wire import encode_line
from triage.render.terminal.text import wrap
from triage.render.words.clean import count_cells, cut, escape_json, format_one_line, make_encodable

ANY_TEXT = st.text(st.characters(), max_size=200)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("n3", "n3", id="plain"),
        pytest.param("a\tb\n\nc", "a b c", id="white space"),
        pytest.param("\x1b[31mred", "\\x1b[31mred", id="ansi"),
        pytest.param("\x9b31m", "\\x9b31m", id="c1"),
        pytest.param("a\u202egnp.exe", "a\\u202egnp.exe", id="bidi override"),
        pytest.param("a\u200bb", "a\\u200bb", id="zero width"),
        pytest.param("f\udcffile", "f\\udcffile", id="file name that is not UTF-8"),
        pytest.param("a\u2028b", "a\\u2028b", id="line separator"),
        pytest.param("knoten-\u00fc", "knoten-\u00fc", id="letters stay"),
        pytest.param("\x7f\x00", "\\x7f\\x00", id="del and nul"),
    ],
)
def test_writes_controls_out(text, shown):
    assert format_one_line(text) == shown


@given(ANY_TEXT)
def test_leaves_no_control_and_no_line_break(text):
    clean = format_one_line(text)
    assert not {unicodedata.category(char) for char in clean} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert format_one_line(clean) == clean
    clean.encode("utf-8")


@given(ANY_TEXT)
def test_any_text_can_be_encoded(text):
    assert make_encodable(text).encode("utf-8").decode("utf-8") == make_encodable(text)


@given(ANY_TEXT, st.integers(4, 40))
def test_cut_keeps_to_its_width(text, width):
    assert count_cells(cut(format_one_line(text), width)) <= width


@given(ANY_TEXT, st.integers(20, 80))
def test_wrap_keeps_to_its_width_and_loses_nothing(text, width):
    clean = format_one_line(text)
    lines = wrap(clean, width, first="  - ")
    assert all(count_cells(line) <= width for line in lines)
    shown = "".join(line[4:] for line in lines).replace(" ", "").replace("\u3000", "")
    assert shown == "".join(clean.split())


def test_breaks_a_long_path_at_a_slash():
    path = "/".join(["folder"] * 20)
    first, *_ = wrap(path, 40)
    assert first.endswith("/")


def test_wide_letters_count_twice():
    assert count_cells("\u8282\u70b9") == 4
    assert all(count_cells(line) <= 20 for line in wrap("\u8282" * 50, 20))


# Drawn in their scripts: numbers and abbreviations of Arabic, Syriac and others.
DRAWN = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2}


def one_object(text: str) -> bytes:
    return bytes(make_json_response({"text": text}).body)


def one_row(text: str) -> bytes:
    return encode_line({"text": text})


@pytest.mark.parametrize("encode", [one_object, one_row], ids=["an answer", "a row"])
def test_json_holds_no_character_that_is_not_seen(encode: Callable[[str], bytes]) -> None:
    """Both ways to a terminal have one table of them."""
    unseen = "".join(
        char
        for char in map(chr, [*range(0xFFFC), *range(0xE0000, 0xE0080)])
        if unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"} and ord(char) not in DRAWN
    )
    assert {"\x9b", "\xad", "\u061c", "\u202e", "\U000e0041"} <= set(unseen)
    written = encode(unseen)
    assert not set(unseen) - {"\n"} & set(written.decode())
    assert orjson.loads(written) == {"text": unseen}


@given(ANY_TEXT)
def test_escapes_say_the_same(text: str) -> None:
    plain = orjson.dumps(make_encodable(text))
    assert orjson.loads(escape_json(plain)) == orjson.loads(plain)
