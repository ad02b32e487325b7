"""``dcgmi diag`` and ``dcgmi mndiag`` as tables, in the forms of DCGM 2 to 4.

DCGM 3 puts GPUs behind the result, DCGM 4 has a line for each::

    | GPU Memory                | Fail - GPU: 3                                  |
    | Warning                   | GPU 3 Detected 2 double bit errors             |

    | memory                    | Fail                                           |
    |                           | GPU3: Fail                                     |
    | Warning: GPU3             | Detected 2 double bit errors                   |

Messages are broken at the width of the right column. A table ends with a rule; without it, more
tests may have followed. An error in its place means that nothing was tested.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.cluster.agent_report import complaint_of
from triage.formats.health.dcgm.dcgm_diag import OUTCOMES, category_of
from triage.formats.health.reading import Reading, check_name, lines_of

__all__ = ["DCGM_DIAG_TABLE"]

CLAIM: Final = re.compile(
    r"^(?:Successfully ran diagnostic for group\.|Successfully ran multi-node diagnostic\."
    r"|Multi-node diagnostic failed\.|\| (?:Multi-Node )?Diagnostic\s{2,30}\| Result\s"
    r"|Error: (?:Unable to complete|Could not stop the launched) (?:multi-node )?diagnostic\b"
    r"|Error: Diagnostic (?:can only|could not) be )",
    re.MULTILINE,
)
# "| GPU Memory                | Fail - GPU: 3                                  |"
ROW: Final = re.compile(r"\|(?P<left>[^|]{1,80})\|(?P<right>.{0,200})\|\s*$")
RULE: Final = re.compile(r"\+[-=]{10,60}\+[-=]{10,120}\+?\s*$")
# "|-----  Hardware  ----------+-----", "+-----  Stress  ------------+----"
SECTION: Final = re.compile(r"[|+]-{3,8}\s{1,4}(?P<name>[A-Za-z][A-Za-z /]{1,30}?)\s{1,4}-{2,30}\+")
RESULT: Final = re.compile(
    r"(?P<word>Pass|Fail|Warn|Skip|Not Run)(?:\s{1,3}- (?P<gpus>.{1,120}))?$"
)
# "GPU3: Fail", "CPU0: Skip"
ENTITY: Final = re.compile(
    r"(?P<kind>[A-Za-z]{2,12})\s?(?P<number>\d{1,4}): (?P<word>\w[\w ]{2,8})$"
)
NOTE: Final = re.compile(
    r"(?P<sort>Warning|Info|Error)(?:: (?P<kind>[A-Za-z]{2,12})(?P<number>\d{1,4}))?$"
)
OF_HOST: Final = re.compile(r"Host (\d{1,5})$")
HOST: Final = re.compile(r"(\d{1,5}): (\S{1,256})$")
OF_GPU: Final = re.compile(r"GPUs?:? ([\d, ]{1,400})$")
NUMBER: Final = re.compile(r"\d{1,4}", re.ASCII)
SAID_GPU: Final = re.compile(r"\bGPU ?(\d{1,4})\b")
ERROR: Final = re.compile(r"\s{0,4}Error: (.{1,400})")
# "Return: (-15) GPU is lost"
GONE: Final = re.compile(r"GPU is lost|has fallen off the bus|GPU requires reset", re.IGNORECASE)
NCCL_ALONE: Final = re.compile(r"\bNCCL\b")
NAMES: Final = {"gpu_memory": "memory", "mnubergemm_test": "mnubergemm"}
MAX_MESSAGE: Final = 1000


@dataclass(slots=True)
class Test:
    """One test: its result, that of each part, and its messages."""

    name: str
    family: str
    line: int
    overall: Outcome
    node: str | None = None
    parts: dict[str, Outcome] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    wording: dict[str | None, str] = field(default_factory=dict)
    part: str | None = None


@dataclass(slots=True)
class Table:
    """Where the reading of a table stands."""

    reading: Reading
    family: str = ""
    test: Test | None = None
    noted: bool = False
    open: bool = False
    hosts: dict[str, str] = field(default_factory=dict)
    listing: bool = False


def claimed(head: str) -> bool:
    return CLAIM.search(head) is not None


def read(text: str, reading: Reading) -> None:
    table = Table(reading)
    begun = False
    for index, line in lines_of(text):
        row = ROW.match(line)
        if begun and SECTION.match(line):
            end_test(table)
            table.family = SECTION.match(line)["name"].lower()  # type: ignore[index]
            reading.saw(index)
        elif row is not None and (begun or CLAIM.match(line)):
            begun = table.open = True
            reading.saw(index)
            take(row["left"].strip(), row["right"].strip(), index, table)
        elif RULE.match(line):
            if begun:
                reading.saw(index)
                table.open = "=" in line
        elif (error := ERROR.match(line)) is not None and CLAIM.match(line.strip()):
            begun = True
            reading.saw(index)
            of_error(error[1], index, reading)
        elif CLAIM.match(line):
            begun = True
            reading.saw(index)
    end_test(table)
    if table.open:
        reading.unknown("dcgm.run", "the table breaks off", line=reading.last_line)
    elif not reading.results:
        reading.unknown("dcgm.run", "no test has a result", line=1)


def take(left: str, right: str, line: int, table: Table) -> None:
    """One row."""
    result, note = RESULT.match(right), NOTE.match(left)
    host = OF_HOST.match(left)
    if left == "Host List" or (table.listing and not left):
        found = HOST.match(right)
        table.listing = found is not None
        if found is not None:
            table.hosts[found[1]] = found[2]
    elif note is not None and table.test is not None:
        number = note["number"] or said_gpu(right, table.test)
        table.test.part = part_of(note["kind"] or "gpu", number) if number else None
        table.noted = note["sort"] != "Info"
        say(right, table)
    elif host is not None and result is not None:
        start(Test("mnubergemm", "", line, OUTCOMES[result["word"].lower()]), table)
        table.test.node = table.hosts.get(host[1])  # type: ignore[union-attr]
    elif (gpus := OF_GPU.match(left)) is not None and result is not None and table.test:
        of_gpus(gpus[1], result["word"], line, table.test)
        table.noted = False
    elif left and result is not None:
        start(Test(left, table.family, line, OUTCOMES[result["word"].lower()]), table)
        of_gpus(result["gpus"] or "", result["word"], line, table.test)
    elif not left and table.test is not None:
        of_row_below(right, result, line, table)
    elif left:
        table.listing = False
        end_test(table)


def start(test: Test, table: Table) -> None:
    end_test(table)
    table.test, table.noted, table.listing = test, False, False


def of_row_below(right: str, result: re.Match[str] | None, line: int, table: Table) -> None:
    """A row without a name: another result of the test, or more of a message."""
    test = table.test
    entity = ENTITY.match(right)
    if test is None:
        return
    if entity is not None and entity["word"].lower() in OUTCOMES:
        part = part_of(entity["kind"], entity["number"])
        test.parts[part] = OUTCOMES[entity["word"].lower()]
        test.lines[part] = line
        test.part, table.noted = part, False
    elif result is not None and result["gpus"]:
        of_gpus(result["gpus"], result["word"], line, test)
        table.noted = False
    elif right.startswith("Error:") or table.noted:
        table.noted = True
        say(right, table)


def of_gpus(wording: str, word: str, line: int, test: Test | None) -> None:
    for number in NUMBER.findall(wording):
        if test is not None:
            part = part_of("gpu", number)
            test.parts[part] = OUTCOMES[word.lower()]
            test.lines[part] = line
            test.part = part


def say(words: str, table: Table) -> None:
    test = table.test
    if test is not None and table.noted:
        before = test.wording.get(test.part, "")
        if len(before) < MAX_MESSAGE:
            test.wording[test.part] = f"{before} {words}".strip()


def said_gpu(words: str, test: Test) -> str | None:
    """The GPU that a message of DCGM 3 begins with, if the test has a result of it."""
    found = SAID_GPU.search(words)
    return found[1] if found and (not test.parts or f"gpu {found[1]}" in test.parts) else None


def part_of(kind: str, number: str | None) -> str:
    return f"{kind.lower()} {int(number or 0)}"


def end_test(table: Table) -> None:
    """The results of the test that stood above."""
    test, table.test = table.test, None
    if test is None:
        return
    name = check_name("dcgm", test.name)
    short = name.removeprefix("dcgm.")
    short = NAMES.get(short, short)
    parts: dict[str | None, Outcome] = dict(test.parts.items())
    if not parts or (test.overall is Outcome.FAIL and Outcome.FAIL not in parts.values()):
        told: list[str | None] = [part for part in test.wording if part and part not in parts]
        # DCGM 4 fails a test as a whole, and names the GPU in the message.
        parts.update(dict.fromkeys(told or [None], test.overall))
    for part, outcome in parts.items():
        words = test.wording.get(part) or test.wording.get(None, "")
        # A test of all nodes fails on whoever waited, too.
        if test.node and outcome is Outcome.FAIL and NCCL_ALONE.search(words):
            outcome = Outcome.WARN
        table.reading.add(
            f"dcgm.{short}",
            outcome,
            part=part,
            node=test.node,
            detail=words,
            category=category_of(short, test.family, {}, words),
            line=test.lines.get(part or "", test.line),
        )


def of_error(words: str, line: int, reading: Reading) -> None:
    """Nothing was tested; a GPU that is gone says so here."""
    if GONE.search(words):
        reading.add(
            "dcgm.run", Outcome.FAIL, part=complaint_of(words).gpu, detail=words,
            category=Category.GPU, line=line,
        )  # fmt: skip
    else:
        reading.unknown("dcgm.run", words, line=line)


DCGM_DIAG_TABLE: Final = CheckFormat("dcgm_diag_table", claimed, read, words=("diagnostic",))
