"""A stored file by its lines: the same numbers as evidence has, wherever pieces are cut."""

import io

import pytest

from tests.services.whole_jobs import tar_of
from triage.errors import NotFound, Unprocessable
from triage.services.context import Context
from triage.services.uploads import raw_file
from triage.services.uploads.ingest import take_artifact, take_bundle
from triage.services.uploads.raw_file import find_stored_file, read_lines_around, read_pieces
from triage.services.uploads.received import Target

LINES = [f"[{k}.0] line number {k}" + "x" * (k % 97) for k in range(1, 5001)]


@pytest.fixture(params=["sqlite"])
def database_url(request: pytest.FixtureRequest) -> str:
    return ""


def kept(ctx: Context, data: bytes, name: str = "kernel.log") -> tuple[str, str]:
    target = Target("1", node="n1", filename=name)
    taken = take_artifact(ctx, target, io.BytesIO(data).read, None)
    return taken.artifact.incident_id, f"nodes/n1/{name}"


@pytest.mark.parametrize("piece", [1, 3, 1000, 1 << 18])
@pytest.mark.parametrize("line", [1, 2, 10, 11, 2500, 4990, 5000])
def test_the_lines_around_one(
    ctx: Context, monkeypatch: pytest.MonkeyPatch, piece: int, line: int
) -> None:
    lines = LINES if piece > 3 else LINES[:60]
    line = line if piece > 3 else min(line, 60)
    monkeypatch.setattr(raw_file, "PIECE", piece)
    file = find_stored_file(ctx, *kept(ctx, "\n".join(lines).encode()))
    found = read_lines_around(ctx, file, line, 10)
    numbers = range(found.first, found.first + len(found.lines))
    assert line in numbers
    assert found.first == max(1, line - 10)
    assert list(found.lines) == [lines[k - 1] for k in numbers]
    assert numbers[-1] == min(line + 10, len(lines))
    assert found.more is (numbers[-1] < len(lines))


@pytest.mark.parametrize("data", [b"a\nb\nc", b"a\nb\nc\n"])
def test_a_line_behind_the_end_shows_the_first_ones(ctx: Context, data: bytes) -> None:
    file = find_stored_file(ctx, *kept(ctx, data))
    for line in (4, 9, 1000):
        found = read_lines_around(ctx, file, line, 5)
        assert (found.first, found.lines, found.more) == (1, ("a", "b", "c"), False)


def test_carriage_returns_end_no_line_and_long_lines_are_cut(ctx: Context) -> None:
    data = b"10%\r20%\r30%\nsecond\n" + b"y" * 100_000 + b"\nfourth\n"
    found = read_lines_around(ctx, find_stored_file(ctx, *kept(ctx, data)), 2, 5)
    assert found.lines[0] == "10%\r20%\r30%"
    assert found.lines[1] == "second"
    assert found.lines[2] == "y" * raw_file.MAX_LINE_BYTES
    assert found.lines[3] == "fourth"
    assert len(found.lines) == 4


def test_another_encoding_and_broken_bytes_are_shown_as_text(ctx: Context) -> None:
    wide = find_stored_file(
        ctx, *kept(ctx, "\ufeffä first\nsecond\n".encode("utf-16-le"), "wide.log")
    )
    assert read_lines_around(ctx, wide, 1, 5).lines == ("ä first", "second")
    broken = find_stored_file(ctx, *kept(ctx, b"good\nba\xffd\n", "broken.log"))
    assert read_lines_around(ctx, broken, 1, 5).lines == ("good", "ba\ufffdd")


def test_a_whole_file_comes_back_byte_for_byte(ctx: Context) -> None:
    data = "\n".join(LINES).encode() * 3
    file = find_stored_file(ctx, *kept(ctx, data))
    assert b"".join(read_pieces(ctx, file)) == data


def test_each_file_of_a_bundle_is_itself(ctx: Context) -> None:
    files = {f"nodes/n{k}/kernel.log": f"[1.0] of node {k}\n".encode() for k in range(5)}
    taken = take_bundle(ctx, Target("2"), io.BytesIO(tar_of(files)).read, None)
    for name, data in files.items():
        assert b"".join(read_pieces(ctx, find_stored_file(ctx, taken.incident_id, name))) == data


def test_what_is_no_text_has_no_lines(ctx: Context) -> None:
    file = find_stored_file(ctx, *kept(ctx, b"\x7fELF" + bytes(range(256)) * 40, "core"))
    with pytest.raises(Unprocessable, match="no lines to show"):
        read_lines_around(ctx, file, 1, 5)


def test_what_is_not_there_is_said(ctx: Context) -> None:
    incident, name = kept(ctx, b"a\n")
    for other in ("", "nodes/n2/kernel.log", "../" + name, name + "\x00"):
        with pytest.raises(NotFound):
            find_stored_file(ctx, incident, other)
    file = find_stored_file(ctx, incident, name)
    ctx.blobs.delete(file.blob_key)
    with pytest.raises(NotFound, match="not in the blob store"):
        read_lines_around(ctx, file, 1, 5)
