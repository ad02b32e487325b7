"""Which lines share a collapse key, and what the template mask leaves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.parsers.logs.coarse_keys import compute_timeless_key, compute_words_key
from triage.parsers.logs.mask import collapse_key, mask_template


def key(line: str | bytes) -> int:
    raw = line.encode() if isinstance(line, str) else line
    return int(collapse_key(np.frombuffer(bytearray(raw), np.uint8), 0, len(raw)))


def mask(line: str | bytes) -> str:
    raw = line.encode() if isinstance(line, str) else line
    out = np.zeros(402, np.uint8)
    _, length = mask_template(np.frombuffer(bytearray(raw), np.uint8), 0, len(raw), out)
    return out[:length].tobytes().decode("utf-8", "replace").replace("\x01", "#")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[12345.678901] lost", "[12999.000001] lost"),
        ("[    5.678901] lost", "[  999.000001] lost"),
        ("Xid 31, pid=77, Ch 0000000a", "Xid 31, pid=1234567, Ch 0000000b"),
        ("at 0x7f00aa_00000000", "at 0x12"),
        ("03:04:05 gone", "03:59:59.123456 gone"),
        ("2026-11-21T03:04:05,1+02:00 x", "2026-11-21T03:10:06,2+02:00 x"),
        ("took 600012ms", "took 700000ms"),
        ("loss 1.25", "loss 0.75"),
        ("[   T1946] x", "[   T88] x"),
        ('"t":"1700000123456789"', '"t":"1700000999999999"'),
        ("6,100,206764307,-;x", "6,200,206999999,-;x"),
        ("1f2e3d4c-aaaa-bbbb-cccc-1234567890ab", "00000000-1111-2222-3333-444444444444"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\0b", "ab"),
    ],
)
def test_what_is_volatile_does_not_part_lines(one: str, other: str) -> None:
    assert key(one) == key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("PCI:0000:5d:00", "PCI:0000:5e:00"),
        ("0000:5d:00.0", "0000:5d:00.1"),
        ("5d:00.0", "5d:01.0"),
        ("Xid 79", "Xid 48"),
        ("[rank12345]:", "[rank12346]:"),
        ("Rank 12345 is", "Rank 12346 is"),
        ("global_rank: 12345", "global_rank: 12346"),
        ("12345: srun", "12346: srun"),
        ("[1,12345]<stdout>", "[1,12346]<stdout>"),
        ("10.0.0.1:5000", "10.0.0.2:5000"),
        ("GPU-3f2a1b4c-0000-1111-2222-333344445555", "GPU-3f2a1b4c-0000-1111-2222-333344445556"),
        ("node-00123 down", "node-00124 down"),
        ("03:04:05 gone", "04:04:05 gone"),
        ("2026-11-21 x", "2026-11-22 x"),
        ("[12345.678901] lost", "[13345.678901] lost"),
        ("mlx5_2 down", "mlx5_3 down"),
        ("nvme0n1", "nvme1n1"),
        ("6,100,206764307,-;x", "6,100,9206764307,-;x"),
    ],
)
def test_what_identifies_does(one: str, other: str) -> None:
    assert key(one) != key(other)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[rank3]: saved /ckpt/3/x.pt in 1.5 s", "[#]: saved # in # s"),
        ("values 1, 2, 3 done", "values # done"),
        ("values 1 done", "values # done"),
        ("no digits - here", "no digits - here"),
        ("", ""),
    ],
)
def test_a_template_mask_leaves_words(line: str, words: str) -> None:
    assert mask(line) == words


def timeless(line: str) -> int:
    raw = line.encode()
    return int(compute_timeless_key(np.frombuffer(bytearray(raw), np.uint8), 0, len(raw)))


HEAD = "Nov 21 03:04:05 n-003 kernel: [12345.678901] "


def test_hours_do_not_part_lines_under_a_key_without_time() -> None:
    assert timeless(HEAD + "x 1") == timeless("Nov 22 09:04:05 n-003 kernel: [99999.000001] x 1")
    assert timeless("[    5.678901] x") == timeless("[12345.000001] x") != 0


@pytest.mark.parametrize(
    "other",
    [
        HEAD + "x 2",
        "Nov 21 03:04:05 n-004 kernel: [12345.678901] x 1",
        "n5 kernel: [12345.678901] x 1",
        "[12345.678901] x 1",
    ],
)
def test_what_identifies_parts_them(other: str) -> None:
    assert timeless(HEAD + "x 1") != timeless(other)


@pytest.mark.parametrize("line", ["", "x", "[5]", "[5.1] x", "[12345.678901", "[rank3]: x", "[abc"])
def test_a_line_of_no_kernel_has_no_such_key(line: str) -> None:
    assert timeless(line) == 0


def words(line: str) -> int:
    raw = line.encode()
    return int(compute_words_key(np.frombuffer(bytearray(raw), np.uint8), 0, len(raw)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[rank3]: step 7 loss 1.5", "[rank12]: step 70 loss 0.25"),
        ("gpu0001:77:80 [3] INFO", "gpu0002:1:2 [0] INFO"),
        ("7%|#     | 7/9", "80%|##### | 8/9"),
        ("at 0x3fa", "at 0x12"),
    ],
)
def test_lines_of_the_same_words_share_a_key(one: str, other: str) -> None:
    assert words(one) == words(other)


@pytest.mark.parametrize(
    ("one", "other"), [("loss 1.5", "loss nan"), ("a b", "b a"), ("ab", "a b"), ("step", "Step")]
)
def test_lines_of_other_words_do_not(one: str, other: str) -> None:
    assert words(one) != words(other)


@given(st.binary(max_size=300), st.integers(0, 20))
def test_masks_stay_inside_a_line(raw: bytes, pad: int) -> None:
    plain = np.frombuffer(bytearray(raw), np.uint8)
    around = np.frombuffer(bytearray(b"9" * pad + raw + b"a:00:00-1f" * 4), np.uint8)
    assert collapse_key(plain, 0, len(raw)) == collapse_key(around, pad, pad + len(raw))
    out = np.zeros(402, np.uint8)
    assert mask_template(plain, 0, len(raw), out) == mask_template(around, pad, pad + len(raw), out)
