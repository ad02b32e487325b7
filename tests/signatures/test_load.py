"""Our own files of signatures: what is wrong is told with file and line, and nothing is loose."""

import re
import tomllib
from importlib import resources

import pytest

from triage.domain.category import Category
from triage.domain.evidence import EvidenceRole, Kind
from triage.signatures.cases import PLACES
from triage.signatures.load import parse_signatures
from triage.signatures.own.faults import FaultySignatures
from triage.signatures.signature import Reading, Scope, Signature

HEAD = """[family.lib]
kind = "nccl"
scope = "job"
category = "nic"
source = "mylib"
[parts]
RING = 'ring \\d+'
"""
ENTRY = """[[signature]]
name = "lost"
pattern = ['{RING} lost', ' its token']
literals = ["lost its token"]
matches = ["ring 3 lost its token"]
near_misses = ["ring 3 has its token"]
"""


def load(text: str, **names: object) -> Signature:
    return parse_signatures("lib.toml", text.encode(), names.get)[0]


def faults(text: str, **names: object) -> list[str]:
    with pytest.raises(FaultySignatures) as raised:
        load(text, **names)
    return [str(one) for one in raised.value.faults]


def test_an_entry_has_what_its_family_says_and_the_parts_in_its_pattern() -> None:
    one = load(HEAD + ENTRY)
    assert (one.id, one.kind, one.scope) == ("lib.lost", Kind.NCCL, Scope.JOB)
    assert (one.category, one.role, one.source) == (Category.NIC, EvidenceRole.ROOT, "mylib")
    assert one.pattern.search("RING 12 lost its token")
    assert one.read is None


def test_an_entry_takes_back_what_its_family_says() -> None:
    assert load(HEAD + ENTRY + 'category = ""\n').category is None


def test_a_reader_is_one_of_the_module_beside() -> None:
    def weak(match: "re.Match[str]", after: object) -> Reading:
        return Reading(weak=True)

    assert load(HEAD + ENTRY + 'read = "weak"\n', weak=weak).read is weak


def test_a_line_of_a_node_carries_the_usual_severity_or_its_own() -> None:
    graded = HEAD.replace('scope = "job"', "graded = true") + ENTRY
    for text, severity in ((graded, "error"), (graded + 'severity = "fatal"\n', "fatal")):
        one = load(text)
        found = one.pattern.search(one.matches[0])
        assert one.read is not None
        assert found is not None
        reading = one.read(found, ())
        assert reading is not None
        assert reading.fields == {"severity": severity}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (ENTRY + 'read = "weak"', "lib.toml:14: the reader 'weak' is none of the file"),
        (ENTRY + 'colour = "red"', "lib.toml:14: the key 'colour' is none"),
        (ENTRY + 'role = "cause"', "lib.toml:14: role 'cause' is none of root"),
        (ENTRY + 'family = "other"', "lib.toml:14: the family 'other' is none of lib"),
        (ENTRY + 'severity = "bad"', "lib.toml:14: severity 'bad' is none of none, info"),
        (ENTRY + "context = -1", "lib.toml:14: context must be a number from 0 on"),
        (ENTRY.replace("{RING}", "{RUNG}"), "lib.toml:10: pattern names the part RUNG"),
        (ENTRY.replace("pattern", "patern"), "lib.toml:8: pattern is missing"),
        (ENTRY + "[[reader.x]]\ncolour = 1\n", "lib.toml:15: the key 'colour' is none"),
        (ENTRY + '[[reader.x]]\nread = "y"\n', "lib.toml:15: the reader 'y' is none"),
        (ENTRY + '[[reader.x]]\nseverity = "y"\n', "lib.toml:15: severity 'y' is none of none"),
        (ENTRY + "each = ", "lib.toml:14: the file is no TOML: Invalid value"),
    ],
)
def test_a_fault_is_told_with_its_line(text: str, fault: str) -> None:
    assert any(one.startswith(fault) for one in faults(HEAD + text)), faults(HEAD + text)


def test_a_fault_of_a_family_or_of_the_file_is_told() -> None:
    assert faults('[family.lib]\nshape = "x"\n')[0].startswith("lib.toml:2: the key 'shape'")
    assert faults("[silence]\n")[0].startswith("lib.toml:1: the key 'silence' is none")


def test_a_pattern_that_is_none_is_told_when_it_is_searched_for(tmp_path) -> None:
    path = tmp_path / "lib.toml"
    path.write_text(HEAD + ENTRY.replace("' its token'", "'(its'"), "utf-8")
    one = parse_signatures(str(path), path.read_bytes(), {}.get)[0]
    with pytest.raises(FaultySignatures, match=r"lib.toml:10: the pattern cannot be read"):
        one.pattern.search("ring 3")


CASES = """[[reader.fate]]
when.ring = '^0$'
skip = true
[[reader.fate]]
when.rest = 'with (?P<cause>\\w+)'
unless.line = 'test'
role = "advice"
weak = true
severity = "warn"
peer = "ring {ring}"
fields = { cause = "{cause:upper}", absent = "{nothing}" }
[[reader.fate]]
at_least.ring = 10
read = "numbered"
more = ["network"]
[[reader.numbered]]
also = ["gpu"]
find.first = '([a-z]+)'
"""


def read(line: str) -> Reading | None:
    """What the cases make of a line."""
    one = load(HEAD + CASES + ENTRY.replace("{RING}", r"ring (?P<ring>\d+)") + 'read = "fate"\n')
    found = one.pattern.search(line)
    assert found is not None
    assert one.read is not None
    return one.read(found, ())


def test_the_first_case_that_holds_says_what_a_line_means() -> None:
    assert read("ring 0 lost its token with shame") is None
    assert read("ring 7 lost its token") == Reading()
    assert read("ring 7 lost its token with a test") == Reading()
    assert read("ring 7 lost its token with shame") == Reading(
        role=EvidenceRole.ADVICE,
        weak=True,
        peer="ring 7",
        fields={"cause": "SHAME", "severity": "warn"},
    )


def test_a_case_goes_on_with_another_reader() -> None:
    assert read("ring 12 lost its token") == Reading(
        also=(Category.GPU, Category.NETWORK), fields={"first": "ring"}
    )


def shipped_files() -> list[tuple[str, str]]:
    """Name and text of our own files of signatures."""
    return [
        (file.name, file.read_text("utf-8"))
        for path in resources.files("triage.signatures").iterdir()
        for file in (path.iterdir() if path.is_dir() else ())
        if file.name.endswith(".toml")
    ]


def test_every_part_of_a_file_is_named_by_an_entry() -> None:
    """What a file defines and no entry names is left over."""
    for name, text in shipped_files():
        parts = re.findall(r"^([A-Z][A-Z_0-9]+) = ", text, re.MULTILINE)
        assert [part for part in parts if f"{{{part}}}" not in text] == [], name


def test_every_reader_of_a_file_is_used_and_looks_at_what_there_is() -> None:
    for name, text in shipped_files():
        groups = {*PLACES, *re.findall(r"\(\?P<(\w+)>", text)}
        for reader, cases in tomllib.loads(text).get("reader", {}).items():
            assert f'read = "{reader}"' in text, (name, reader)
            for case in cases:
                looked = [*case.get("when", {}), *case.get("unless", {}), *case.get("at_least", {})]
                assert {one for key in looked for one in key.split("|")} <= groups, (name, reader)
