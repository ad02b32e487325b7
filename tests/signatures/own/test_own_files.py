"""A file of own signatures is refused whole, with every fault on its line, or taken whole."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.signatures.form import TomlLines
from triage.signatures.own.check import check_from_files, own_from_files, own_from_path
from triage.signatures.own.faults import FaultySignatures
from triage.signatures.own.file import MAX_BYTES, MAX_ENTRIES, read_file
from triage.signatures.own.own_signatures import NO_OWN, own_from_bytes
from triage.signatures.registry import load_all_signatures

EXAMPLE = Path(__file__).parents[3] / "examples/signatures/own.toml"
GOOD = """\
[[signature]]
name = "ckptfs_lost"
pattern = 'ckptfs: lost contact with server \\S+'
category = "storage"
matches = ["ckptfs: lost contact with server ost-17"]
near_misses = ["ckptfs: contact with server ost-17 is back"]
"""


def faults(text: str | bytes) -> list[tuple[int, str]]:
    """(line, reason) of all that is wrong with a file."""
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(FaultySignatures) as raised:
        own_from_files({"own.toml": data})
    assert {one.file for one in raised.value.faults} == {"own.toml"}
    return [(one.line, one.reason) for one in raised.value.faults]


def changed(old: str, new: str) -> str:
    """The good file with one change."""
    assert old in GOOD
    return GOOD.replace(old, new, 1)


def test_the_example_is_taken_and_travels_unchanged() -> None:
    own = own_from_path(EXAMPLE)
    assert [one.id for one in own.entries] == ["local.ckptfs_lost", "local.riser_alarm"]
    assert [one.id for one in own.silences] == ["nvidia.xid:43"]
    assert own_from_bytes(own.to_bytes()) == own
    assert own_from_bytes(b"") is NO_OWN


def test_a_folder_gives_its_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "b.toml").write_text(GOOD)
    (tmp_path / "a.toml").write_text(GOOD.replace("ckptfs", "otherfs"))
    (tmp_path / "notes.txt").write_text("no signatures")
    names = [one.name for one in own_from_path(tmp_path).entries]
    assert names == ["otherfs_lost", "ckptfs_lost"]


PATTERN = "pattern = 'ckptfs: lost contact with server \\S+'"
CASES = [
    ("[[signature", 1, "no TOML", GOOD.replace("[[signature]]", "[[signature")),
    (
        "unknown key",
        4,
        "the key 'colour' is none",
        changed('category = "', 'colour = 1\ncategory = "'),
    ),
    (
        "unknown table",
        1,
        "the key 'signatures' is none",
        GOOD.replace("[[signature]]", "[[signatures]]"),
    ),
    ("no table", 1, "must be a list of tables", "signature = 3\n"),
    ("category", 4, "category 'disc' is none of gpu,", changed('"storage"', '"disc"')),
    ("no category", 1, "a root needs a category", changed('category = "storage"\n', "")),
    ("role", 2, "role 'cause' is none of root,", changed("name =", 'role = "cause"\nname =')),
    ("kind", 2, "read by built-in ones alone", changed("name =", 'kind = "xid"\nname =')),
    (
        "action",
        2,
        "needs a category of hardware",
        changed("name =", 'action = "drain_node"\nname ='),
    ),
    ("severity", 2, "severity 'bad' is none of", changed("name =", 'severity = "bad"\nname =')),
    ("weak", 2, "weak must be true or false", changed("name =", "weak = 1\nname =")),
    ("name", 2, "is no name", changed("ckptfs_lost", "ckptfs lost")),
    ("name of ours", 2, "is the name of a built-in", changed("ckptfs_lost", "nvidia.xid")),
    ("no name", 1, "name is missing", changed('name = "ckptfs_lost"\n', "")),
    ("unclosed", 3, "cannot be read", changed(PATTERN, "pattern = '(ckptfs: lost contact'")),
    ("back reference", 1, "no references back", changed(PATTERN, "pattern = '(ckptfs: lost) \\1'")),
    (
        "look around",
        1,
        "no looking around",
        changed(PATTERN, "pattern = 'ckptfs: lost(?= contact)'"),
    ),
    (
        "blow-up",
        1,
        "steps, of at most",
        changed(PATTERN, "pattern = 'ckptfs: lost (\\w{1,30} ){1,30}'"),
    ),
    ("bad repetition", 1, "none of RE2", changed(PATTERN, "pattern = 'ckptfs: lost x{1,5000}'")),
    ("everything", 3, "no text that every match holds", changed(PATTERN, "pattern = '.*'")),
    (
        "empty line",
        1,
        "matches the empty line",
        changed(PATTERN, "pattern = '(?:ckptfs: lost)?'\nliterals = ['ckptfs: lost']"),
    ),
    (
        "group",
        1,
        "the group 'host' fills no field",
        changed(PATTERN, "pattern = 'ckptfs: lost (?P<host>\\w+)'"),
    ),
    (
        "common word",
        1,
        "is a word of every log",
        changed(PATTERN, PATTERN + '\nliterals = ["error"]'),
    ),
    (
        "short literal",
        1,
        "too short to be rare",
        changed(PATTERN, PATTERN + '\nliterals = ["los"]'),
    ),
    (
        "usual literal",
        1,
        "in too many lines of logs",
        changed(PATTERN, PATTERN + '\nliterals = ["nccl"]'),
    ),
    (
        "missed",
        1,
        "is not matched",
        changed('server ost-17"]', 'server "]'),
    ),
    ("no literal", 1, "has none of its literals", changed('["ckptfs: lost', '["chkfs: lost')),
    (
        "no example",
        1,
        "no line that it matches",
        changed('matches = ["ckptfs: lost contact with server ost-17"]\n', ""),
    ),
    (
        "no near miss",
        1,
        "no line that comes near",
        changed('near_misses = ["ckptfs: contact with server ost-17 is back"]\n', ""),
    ),
    (
        "near miss",
        1,
        "is matched",
        changed(
            "ckptfs: contact with server ost-17 is back", "ckptfs: lost contact with server ost-17"
        ),
    ),
    ("twice", 7, "was given before: own.toml:1", GOOD + GOOD),
    ("two lines", 5, "must be texts of one line", changed('ost-17"]', 'ost-17\\nmore"]')),
    (
        "silence",
        2,
        "the id of no built-in",
        '[[silence]]\nsignatures = ["nvidia.nothing"]\nreason = "x"\n',
    ),
    (
        "silent code",
        2,
        "has no code 99999",
        '[[silence]]\nsignatures = ["nvidia.xid:99999"]\nreason = "x"\n',
    ),
    (
        "no codes",
        2,
        "has no code 4",
        '[[silence]]\nsignatures = ["storage.full:4"]\nreason = "x"\n',
    ),
    ("no reason", 1, "reason is missing", '[[silence]]\nsignatures = ["nvidia.xid"]\n'),
    (
        "who is where",
        2,
        "accuses nobody",
        '[[silence]]\nsignatures = ["identity.elastic_ranks"]\nreason = "x"\n',
    ),
    (
        "silent example",
        1,
        "is taken by nothing",
        '[[silence]]\nsignatures = ["nvidia.xid"]\nreason = "x"\nmatches = ["hello"]\n',
    ),
]


@pytest.mark.parametrize(
    ("line", "reason", "text"), [one[1:] for one in CASES], ids=[one[0] for one in CASES]
)
def test_a_fault_is_told_with_its_line_and_reason(line: int, reason: str, text: str) -> None:
    found = faults(text)
    assert any(at == line and reason in said for at, said in found), found


def test_all_faults_are_told_at_once_and_nothing_is_taken() -> None:
    text = GOOD + changed("ckptfs_lost", "no name").replace('"storage"', '"disc"') + "[[silence]]\n"
    assert [line for line, _ in faults(text)] == [8, 10, 13, 13]


def test_a_file_that_is_no_utf8_says_on_which_line() -> None:
    ((line, reason),) = faults(GOOD.encode() + b'x = "\xff\xfe"\n')
    assert (line, "not UTF-8" in reason) == (7, True)


def test_a_file_that_is_too_large_is_not_read() -> None:
    ((line, reason),) = faults(b"#" * (MAX_BYTES + 1))
    assert (line, "of at most" in reason) == (1, True)


def test_more_entries_than_allowed_are_refused() -> None:
    names = [name for name, one in ((s.id, s) for s in load_all_signatures()) if "." in name][:250]
    silence = "".join(f'[[silence]]\nsignatures = ["{n}"]\nreason = "x"\n' for n in names)
    many = "".join(GOOD.replace("ckptfs", f"fs{k}x") for k in range(MAX_ENTRIES - len(names) + 20))
    said = [reason for _, reason in faults(silence + many)]
    assert any(f"of at most {MAX_ENTRIES}" in one for one in said)


def test_a_pattern_that_takes_lines_known_as_harmless_is_refused() -> None:
    """It is spelt out of what our own noise prints, one word a chatter."""
    quiet = [s for s in load_all_signatures() if str(s.role) == "noise" and len(s.literals[0]) > 6]
    words = list(dict.fromkeys(s.literals[0] for s in quiet))[:40]
    escaped = "|".join(
        word.replace("\\", "").replace("'", "") for word in words if word.replace(" ", "").isalnum()
    )
    text = changed(PATTERN, f"pattern = 'ckptfs: lost contact with server \\S+|{escaped}'")
    assert any(
        "known as harmless" in reason or "tells nothing" in reason for _, reason in faults(text)
    )


def test_an_entry_that_comes_before_takes_the_examples() -> None:
    second = changed("ckptfs_lost", "second").replace("is back", "is there")
    assert any("is taken by local.ckptfs_lost" in reason for _, reason in faults(GOOD + second))


def test_the_built_in_that_had_the_lines_is_told() -> None:
    text = """\
[[signature]]
name = "ours_now"
pattern = "OSError: .Errno 28. No space left on device: ./ourfs/"
category = "storage"
matches = ["OSError: [Errno 28] No space left on device: '/ourfs/a'"]
near_misses = ["OSError: [Errno 28] No space left on device: '/tmp/a'"]
"""
    _, (row,) = check_from_files({"own.toml": text.encode()})
    assert (row.id, row.num_hits, row.before) == ("local.ours_now", 1, ("storage.full",))


@given(st.binary(max_size=400))
@settings(max_examples=200, deadline=None)
def test_hostile_bytes_are_faults_and_never_errors(data: bytes) -> None:
    for one in (data, GOOD.encode() + data, b"[[signature]]\nname = '''" + data):
        read = read_file("own.toml", one)
        assert all(1 <= fault.line <= one.count(b"\n") + 1 for fault in read.faults)


@given(
    st.lists(
        st.sampled_from(
            [
                "[[signature]]",
                "name = 1",
                "a = '''",
                "'''",
                '"""',
                'b = """x"""',
                "c = [",
                "]",
                "[[silence]]",
                "# '''",
            ]
        ),
        max_size=12,
    )
)
@settings(max_examples=200, deadline=None)
def test_lines_of_any_text_are_told_without_an_error(parts: list[str]) -> None:
    lines = TomlLines("\n".join(parts))
    for table, index in itertools.product(("signature", "silence"), range(3)):
        assert 1 <= lines.key(table, index, "name") <= max(1, len(parts))


def test_a_header_inside_a_long_text_is_no_entry() -> None:
    text = "[[signature]]\nname = '''\n[[signature]]\n'''\n[[signature]]\nrole = 1\n"
    lines = TomlLines(text)
    assert [lines.entry("signature", k) for k in range(2)] == [1, 5]
    assert lines.key("signature", 1, "role") == 6
