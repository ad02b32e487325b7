"""Forms with files: the same parts however the body is cut, and no part out of a cut one."""

import io
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.errors import BadRequest, TooLarge
from triage.web.multipart import iterate_parts, parse_boundary

BOUNDARY = "----WebKitFormBoundaryqHxlB"
MARK = f"--{BOUNDARY}".encode()


def form(*parts: tuple[str, str | None, bytes]) -> bytes:
    found = b""
    for name, filename, content in parts:
        file = "" if filename is None else f'; filename="{filename}"'
        head = f'Content-Disposition: form-data; name="{name}"{file}\r\n'
        found += MARK + b"\r\n" + head.encode() + b"Content-Type: x/y\r\n\r\n" + content + b"\r\n"
    return found + MARK + b"--\r\n"


class Cut:
    """A body that comes in pieces of any length."""

    def __init__(self, data: bytes, seed: int, most: int) -> None:
        self.source = io.BytesIO(data)
        self.random = random.Random(seed)
        self.most = most

    def read(self, size: int) -> bytes:
        return self.source.read(min(size, self.random.randint(1, self.most)))


def taken(data: bytes, seed: int = 0, most: int = 1 << 16, size: int = 1 << 16) -> list[tuple]:
    found = []
    for part in iterate_parts(Cut(data, seed, most), BOUNDARY):
        content = b""
        while piece := part.read(size):
            content += piece
        found.append((part.name, part.filename, content))
    return found


# Content that looks like a delimiter and is none.
TRICKS = (
    b"", b"\r\n", b"\r", b"\r\n--", b"\r\n-" + MARK, MARK, b"\n" + MARK, b"\r\r\n" + MARK[:-1],
    b"\r\n" + MARK[:-1] + b"x", b"--\r\n\r\n", bytes(range(256)) * 9, b"\r\n" * 500,
)  # fmt: skip


@pytest.mark.parametrize("most", [1, 2, 3, 7, 40, 1000, 1 << 16])
@pytest.mark.parametrize("size", [1, 5, 1 << 16])
def test_parts_are_the_same_however_the_body_is_cut(most: int, size: int) -> None:
    parts = [(f"f{k}", f"name {k}", content) for k, content in enumerate(TRICKS)]
    parts.insert(3, ("word", None, b"abc"))
    assert taken(form(*parts), 7, most, size) == parts


@given(
    st.lists(st.one_of(st.binary(max_size=90), st.sampled_from(TRICKS)), max_size=5),
    st.integers(0, 1000),
    st.integers(1, 90),
)
def test_any_content_comes_back(contents: list[bytes], seed: int, most: int) -> None:
    parts = [("files", f"{k}", one) for k, one in enumerate(contents) if b"\r\n" + MARK not in one]
    assert taken(form(*parts), seed, most) == parts


def test_what_is_not_read_of_a_part_is_skipped() -> None:
    data = form(("a", "a", b"x" * 300_000), ("b", None, b"y"))
    names = [part.name for part in iterate_parts(io.BytesIO(data), BOUNDARY)]
    assert names == ["a", "b"]


@pytest.mark.parametrize("cut", range(0, 180, 3))
def test_a_body_that_is_cut_is_refused(cut: int) -> None:
    data = form(("a", "a", b"content"), ("b", "b", b""))
    assert len(data) > 180
    with pytest.raises(BadRequest):
        taken(data[:cut], 1, 5)


def test_names_come_back_as_they_were_written() -> None:
    data = form(("files", "nodes/n3/%22quoted%22 é\u202e.log", b""))
    assert taken(data)[0][1] == 'nodes/n3/"quoted" é\u202e.log'


def test_a_field_that_is_too_long_is_refused() -> None:
    for part in iterate_parts(io.BytesIO(form(("a", None, b"x" * 99))), BOUNDARY):
        with pytest.raises(TooLarge):
            part.text(98)
    for part in iterate_parts(io.BytesIO(form(("a", None, b"x" * 99))), BOUNDARY):
        assert part.text(99) == "x" * 99


def test_a_header_without_an_end_is_refused_before_it_fills_memory() -> None:
    class Endless:
        total = 0

        def read(self, size: int) -> bytes:
            self.total += size
            return MARK + b"\r\n" if self.total == size else b"x" * size

    body = Endless()
    with pytest.raises(BadRequest, match="no end of its header"):
        list(iterate_parts(body, BOUNDARY))
    assert body.total < 1 << 20


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (f"multipart/form-data; boundary={BOUNDARY}", BOUNDARY),
        ('multipart/form-data; charset=utf-8; boundary="a b"', "a b"),
        ("Multipart/Form-Data;boundary=x", "x"),
        ("multipart/form-data", None),
        ("multipart/mixed; boundary=x", None),
        ("multipart/form-data; boundary=", None),
        (f"multipart/form-data; boundary={'x' * 71}", None),
        ("multipart/form-data; boundary=é", None),
        ("application/json", None),
        ("", None),
    ],
)
def test_the_boundary_is_read_or_refused(kind: str, found: str | None) -> None:
    if found is None:
        with pytest.raises(BadRequest):
            parse_boundary(kind)
    else:
        assert parse_boundary(kind) == found
