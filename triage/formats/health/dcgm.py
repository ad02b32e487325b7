"""What ``dcgmi`` prints: ``diag``, ``mndiag``, ``health`` and ``nvlink``, as JSON and as tables.

DCGM counts GPUs in its own order, which is nvidia-smi's; a part is ``gpu 3``, for no address is
printed. Nothing says when it was taken, nor where.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.domain.patterns import compile_re
from triage.formats.health.complaints import Words, classify_complaint
from triage.formats.health.reading import (
    FAIL,
    PASS,
    SKIPPED,
    WARN,
    Reading,
    add_links,
    check_name,
    count_line,
    find_text,
    iterate_documents,
    iterate_items,
    iterate_lines,
)
from triage.formats.health.rows import Block
from triage.formats.health.table import load_data
from triage.signatures.host.agent_words import find_part

DATA: Final = load_data(__name__)
# What a test that fails is about, where its warning does not say it better.
_OF_TEST: Final = {name: Category(word) for name, word in DATA["of_test"].items()}
# The part that a number of DCGM's errors names (dcgm_errors.h of DCGM 4.6).
_OF_ERROR: Final = {int(number): Category(word) for number, word in DATA["of_error"].items()}
# 129 NCCL failed somewhere among the nodes, 130 the test was run again: every node may report it.
_OF_NOBODY: Final = frozenset({129, 130})
_OUTCOMES: Final = {
    "pass": PASS, "passed": PASS, "fail": FAIL, "failed": FAIL, "warn": WARN, "warning": WARN,
    "skip": SKIPPED, "skipped": SKIPPED, "not run": SKIPPED,
}  # fmt: skip
_OF_WARNING: Final = Words(DATA["of_warning"])
# Drivers, libraries and permissions: nothing of a part.
_SOFTWARE: Final = frozenset({"deployment", "software"})
_NUMBER: Final = compile_re(r"[0-9]{1,4}", re.ASCII)
_MAX_WARNINGS: Final = 4
_MAX_NUMBERS: Final = 64
_Json = Mapping[str, Any]


# dcgmi diag -j of DCGM 2, 3 and 4; lines before and after the object are another program's. Of the
# diagnosis over several nodes a title stands there.
_DIAGNOSTIC: Final = compile_re(r'"DCGM (?:GPU )?Diagnostic"\s{0,20}:(?!\s{0,20}")')


def read_diag(text: str, reading: Reading) -> None:
    found = _DIAGNOSTIC.search(text)
    if found is None:
        return
    begin = text.rfind("{", 0, found.start())
    if begin < 0:
        reading.skip(count_line(text, found.start()), "no object stands around the diagnostic")
        return
    reading.first_line = count_line(text, begin)
    try:
        document, end = json.JSONDecoder().raw_decode(text, begin)
    except (ValueError, RecursionError) as error:
        reading.skip(reading.first_line, f"not valid JSON: {error}")
        return
    reading.last_line = count_line(text, end)
    for name, value in document.items():
        if not _DIAGNOSTIC.match(f'"{name}":') or not isinstance(value, Mapping):
            continue
        trouble = value.get("runtime_error") or value.get("Error")
        if isinstance(trouble, str) and trouble:
            reading.add("dcgm.run", WARN, None, trouble, line=reading.first_line)
        for category in iterate_items(value.get("test_categories")):
            family = str(category.get("category", "")).lower()
            for test in iterate_items(category.get("tests")):
                _read_test(test, str(test.get("name", "")), family, None, reading)


def read_mndiag(text: str, reading: Reading) -> None:
    """``dcgmi mndiag -j``: each result with its host."""
    for document in iterate_documents(text, reading):
        if not isinstance(document, Mapping):
            continue
        hosts = {
            host.get("host_id"): find_text(host, "hostname")
            for host in iterate_items(document.get("hosts"))
            if isinstance(host.get("host_id"), int)
        }
        for fault in iterate_items(document.get("global_errors")):
            detail = find_text(fault, "error", "warning", "message")
            reading.add("dcgm.mndiag", WARN, None, detail, line=1)
        for category in iterate_items(document.get("test_categories")):
            for test in iterate_items(category.get("tests")):
                name = find_text(test, "name")
                if trouble := find_text(test, "mpi_error"):
                    reading.add(check_name("dcgm", name), WARN, None, trouble, line=1)
                _read_test(test, name, "", hosts, reading)


def _read_test(
    test: _Json, name: str, family: str, hosts: Mapping[Any, str] | None, reading: Reading
) -> None:
    """The results of one test; those of each host where ``hosts`` has their names."""
    check = check_name("dcgm", name)
    for result in iterate_items(test.get("results")):
        status = str(result.get("status", "")).strip().lower()
        outcome = _OUTCOMES.get(status)
        if outcome is None:
            reading.skip(reading.first_line, f"{check}: unknown status {status[:40]!r}")
            continue
        # A test of all nodes fails on whoever waited, too: an error of NCCL alone names nobody.
        numbers = set(_iterate_error_numbers(result))
        if hosts is not None and outcome is FAIL and numbers and numbers <= _OF_NOBODY:
            outcome = WARN
        host = result.get("host_id")
        node = hosts.get(host) if hosts and isinstance(host, int) else None
        words = _join_warnings(result)
        numbered = (
            _OF_ERROR[number] for number in _iterate_error_numbers(result) if number in _OF_ERROR
        )
        category = next(numbered, None) or _choose_category(check[5:], family, words)
        for part in _list_result_parts(result):
            reading.add(check, outcome, part, words, category, reading.first_line, node=node)


def _list_result_parts(result: _Json) -> list[str | None]:
    """``gpu 3`` for each GPU that a result is of; one None for the node as a whole."""
    if "entity_id" in result:
        group = str(result.get("entity_group", "GPU")).lower()[:16]
        return [f"{group} {number}" for number in _NUMBER.findall(str(result["entity_id"]))[:1]]
    ids = result.get("gpu_id", result.get("gpu_ids"))
    return [f"gpu {number}" for number in _NUMBER.findall(str(ids))] or [None]


def _join_warnings(result: _Json) -> str:
    """The warnings of a result: texts, or objects that hold one."""
    found = result.get("warnings", result.get("warning"))
    if isinstance(found, str):
        return found
    said = []
    for one in found[:_MAX_WARNINGS] if isinstance(found, list) else ():
        number = one.get("error_id") if isinstance(one, Mapping) else None
        text = str(one.get("warning", "") if isinstance(one, Mapping) else one)
        said.append(f"{text} (error {number})" if isinstance(number, int) else text)
    return "; ".join(said)


def _iterate_error_numbers(result: _Json) -> Iterator[int]:
    warnings = result.get("warnings")
    for warning in warnings[:_MAX_NUMBERS] if isinstance(warnings, list) else ():
        number = warning.get("error_id") if isinstance(warning, Mapping) else None
        if isinstance(number, int):
            yield number


def _choose_category(test: str, family: str, warning: str) -> Category | None:
    """What a result is about: by the words of its warning, else by its test."""
    found = _OF_WARNING.category_in(warning) or _OF_TEST.get(test)
    return found or (Category.DEPENDENCY if family in _SOFTWARE else Category.GPU)


# dcgmi diag and mndiag as tables. DCGM 3 puts GPUs behind the result ("Fail - GPU: 3"), DCGM 4 has
# a line for each ("GPU3: Fail"). Messages are broken at the width of the right column. A table
# ends with a rule; without it, more tests may have followed. An error in its place means that
# nothing was tested.

_TABLE: Final = compile_re(
    r"^(?:Successfully ran diagnostic for group\.|Successfully ran multi-node diagnostic\."
    r"|Multi-node diagnostic failed\.|\| (?:Multi-Node )?Diagnostic\s{2,30}\| Result\s"
    r"|Error: (?:Unable to complete|Could not stop the launched) (?:multi-node )?diagnostic\b"
    r"|Error: Diagnostic (?:can only|could not) be )",
    re.MULTILINE,
)
# "| GPU Memory                | Fail - GPU: 3                                  |"
_ROW: Final = compile_re(r"\|(?P<left>[^|]{1,80})\|(?P<right>.{0,200})\|\s*$")
_RULE: Final = compile_re(r"\+[-=]{10,60}\+[-=]{10,120}\+?\s*$")
# "|-----  Hardware  ----------+-----", "+-----  Stress  ------------+----"
SECTION: Final = compile_re(r"[|+]-{3,8}\s{1,4}(?P<name>[A-Za-z][A-Za-z /]{1,30}?)\s{1,4}-{2,30}\+")
RESULT: Final = compile_re(
    r"(?P<word>Pass|Fail|Warn|Skip|Not Run)(?:\s{1,3}- (?P<gpus>.{1,120}))?$"
)
# "GPU3: Fail", "CPU0: Skip"
_ENTITY: Final = compile_re(
    r"(?P<kind>[A-Za-z]{2,12})\s?(?P<number>\d{1,4}): (?P<word>\w[\w ]{2,8})$"
)
_NOTE: Final = compile_re(
    r"(?P<sort>Warning|Info|Error)(?:: (?P<kind>[A-Za-z]{2,12})(?P<number>\d{1,4}))?$"
)
_OF_HOST: Final = compile_re(r"Host (\d{1,5})$")
_HOST: Final = compile_re(r"(\d{1,5}): (\S{1,256})$")
_OF_GPU: Final = compile_re(r"GPUs?:? ([\d, ]{1,400})$")
_SAID_GPU: Final = compile_re(r"\bGPU ?(\d{1,4})\b")
ERROR: Final = compile_re(r"\s{0,4}Error: (.{1,400})")
_GONE: Final = compile_re(r"GPU is lost|has fallen off the bus|GPU requires reset", re.IGNORECASE)
_NCCL_ALONE: Final = compile_re(r"\bNCCL\b")
_NAMES: Final = {"gpu_memory": "memory", "mnubergemm_test": "mnubergemm"}
_MAX_MESSAGE: Final = 1000


@dataclass(slots=True)
class Test:
    """One test: its result, that of each part with its line, and its messages."""

    name: str
    family: str
    line: int
    overall: Outcome
    node: str | None = None
    parts: dict[str, Outcome] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    wording: dict[str | None, str] = field(default_factory=dict)
    part: str | None = None

    def put(self, kind: str, numbers: str, word: str, line: int) -> None:
        """The result of some parts."""
        for number in _NUMBER.findall(numbers):
            self.part = _format_part(kind, number)
            self.parts[self.part], self.lines[self.part] = _OUTCOMES[word.lower()], line


@dataclass(slots=True)
class _Table:
    """Where the reading of a table stands."""

    reading: Reading
    family: str = ""
    test: Test | None = None
    noted: bool = False
    open: bool = False
    hosts: dict[str, str] = field(default_factory=dict)
    listing: bool = False

    def start(self, test: Test) -> Test:
        """The next test."""
        _end_test(self)
        self.test, self.noted, self.listing = test, False, False
        return test

    def say(self, words: str) -> None:
        """More of a message."""
        test = self.test
        if test is not None and self.noted and len(test.wording.get(test.part, "")) < _MAX_MESSAGE:
            test.wording[test.part] = f"{test.wording.get(test.part, '')} {words}".strip()


def read_diag_table(text: str, reading: Reading) -> None:
    table, begun = _Table(reading), False
    for index, line in iterate_lines(text):
        row = _ROW.match(line)
        if begun and (section := SECTION.match(line)) is not None:
            _end_test(table)
            table.family = section["name"].lower()
        elif row is not None and (begun or _TABLE.match(line)):
            begun = table.open = True
            _take(row["left"].strip(), row["right"].strip(), index, table)
        elif _RULE.match(line):
            if not begun:
                continue
            table.open = "=" in line
        elif (error := ERROR.match(line)) is not None and _TABLE.match(line.strip()):
            begun = True
            if _GONE.search(error[1]):
                gpu = classify_complaint(error[1]).gpu
                reading.add("dcgm.run", FAIL, gpu, error[1], Category.GPU, index)
            else:
                reading.unknown("dcgm.run", error[1], line=index)
        elif _TABLE.match(line):
            begun = True
        else:
            continue
        reading.saw(index)
    _end_test(table)
    if table.open:
        reading.unknown("dcgm.run", "the table breaks off", line=reading.last_line)
    reading.none_found("dcgm.run", "no test has a result")


def _take(left: str, right: str, line: int, table: _Table) -> None:
    """One row."""
    test, result, note, host = (
        table.test,
        RESULT.match(right),
        _NOTE.match(left),
        _OF_HOST.match(left),
    )
    if left == "Host List" or (table.listing and not left):
        found = _HOST.match(right)
        table.listing = found is not None
        if found is not None:
            table.hosts[found[1]] = found[2]
    elif note is not None and test is not None:
        number = note["number"] or _find_said_gpu(right, test)
        test.part = _format_part(note["kind"] or "gpu", number) if number else None
        table.noted = note["sort"] != "Info"
        table.say(right)
    elif host is not None and result is not None:
        test = table.start(Test("mnubergemm", "", line, _OUTCOMES[result["word"].lower()]))
        test.node = table.hosts.get(host[1])
    elif (gpus := _OF_GPU.match(left)) is not None and result is not None and test is not None:
        test.put("gpu", gpus[1], result["word"], line)
        table.noted = False
    elif left and result is not None:
        test = table.start(Test(left, table.family, line, _OUTCOMES[result["word"].lower()]))
        test.put("gpu", result["gpus"] or "", result["word"], line)
    elif not left and test is not None:
        # A row without a name: another result of the test, or more of a message.
        entity = _ENTITY.match(right)
        if entity is not None and entity["word"].lower() in _OUTCOMES:
            test.put(entity["kind"], entity["number"], entity["word"], line)
            table.noted = False
        elif result is not None and result["gpus"]:
            test.put("gpu", result["gpus"], result["word"], line)
            table.noted = False
        elif right.startswith("Error:") or table.noted:
            table.noted = True
            table.say(right)
    elif left:
        table.listing = False
        _end_test(table)


def _find_said_gpu(words: str, test: Test) -> str | None:
    """The GPU that a message of DCGM 3 begins with, if the test has a result of it."""
    found = _SAID_GPU.search(words)
    return found[1] if found and (not test.parts or f"gpu {found[1]}" in test.parts) else None


def _format_part(kind: str, number: str | None) -> str:
    return f"{kind.lower()} {int(number or 0)}"


def _end_test(table: _Table) -> None:
    """The results of the test that stood above."""
    test, table.test = table.test, None
    if test is None:
        return
    short = check_name("dcgm", test.name).removeprefix("dcgm.")
    short = _NAMES.get(short, short)
    parts: dict[str | None, Outcome] = dict(test.parts.items())
    if not parts or (test.overall is FAIL and FAIL not in parts.values()):
        # DCGM 4 fails a test as a whole, and names the GPU in the message.
        told: list[str | None] = [part for part in test.wording if part and part not in parts]
        parts.update(dict.fromkeys(told or [None], test.overall))
    for part, outcome in parts.items():
        words = test.wording.get(part) or test.wording.get(None, "")
        if test.node and outcome is FAIL and _NCCL_ALONE.search(words):
            outcome = WARN
        table.reading.add(
            f"dcgm.{short}", outcome, part, words, _choose_category(short, test.family, words),
            test.lines.get(part or "", test.line), node=test.node,
        )  # fmt: skip


# dcgmi health -c, as a table and as JSON: what the health watches of a node complain of. The right
# column breaks messages at 54 characters; -j has the same tree below "body", the pieces of a
# message under "overflow".

_BOX: Final = compile_re(r"\s{0,8}\+-{10,200}\+?[^\n]*\r?\n\s{0,8}\| Health Monitor Report ")
# "| -> 5                      | Failure        |", "|       -> NVLINK system    | Failure  |"
_LEAF: Final = compile_re(r"\s{0,8}\|(?P<left>[^|]{1,80})\|(?P<right>[^|]{0,200})\|")
_NAMED: Final = compile_re(r"(?P<depth>\s*)-> (?P<name>\S.*)")
_STATES: Final = {"healthy": PASS, "warning": WARN, "failure": FAIL}
_SYSTEMS: Final = {name: Category(word) for name, word in DATA["of_system"].items()}
_NEARER: Final = frozenset(
    {
        Category.GPU, Category.NVLINK, Category.GPU_HBM, Category.GPU_SRAM, Category.GPU_GSP,
        Category.GPU_THERMAL, Category.IO_BOARD,
    }
)  # fmt: skip
_WHOLE: Final = "Overall Health"
_MAX_WORDS: Final = 2000
_MAX_DEPTH: Final = 8


def _add_system(
    entity: str, system: str, state: str, message: str, line: int, reading: Reading
) -> None:
    """One system of one entity (``gpu 5``); the state of the node as a whole names no part."""
    outcome = _STATES.get(state.strip().lower())
    if outcome is None:
        reading.skip(line, f"unknown state {state[:40]!r} of {system[:40]!r}")
        return
    words = system.lower().removesuffix(" system").split()
    # A message of the memory watch may say that the GPU is gone; "reset" in one is no plan.
    said = find_part(message).category
    category = said if said in _NEARER else _SYSTEMS.get(words[0] if words else "", Category.GPU)
    name = check_name("dcgm.health", " ".join(words) or "overall")
    reading.add(name, outcome, entity or None, message, category if entity else None, line)


def begins_health(head: str) -> bool:
    return _BOX.match(head.lstrip("\ufeff\r\n")) is not None


def read_health(text: str, reading: Reading) -> None:
    """Rows of the tree; the message of a system stands in the rows below it."""
    group = entity = system = state = ""
    message: list[str] = []
    begun, last, at_line = False, 1, 1

    def end_system() -> None:
        if system:
            _add_system(entity, system, state, " ".join(message), at_line, reading)

    for index, line in iterate_lines(text):
        row = _LEAF.match(line)
        if row is None:
            if begun and line.strip() and not line.lstrip().startswith(("+", "|")):
                break  # another program's line
            last = index if line.strip() else last
            continue
        begun, last = True, index
        left, right = row["left"].rstrip(), row["right"].strip()
        named = _NAMED.match(left)
        if named is not None and named["name"].strip() == "Errors":
            continue
        if named is None and not left.strip():
            if sum(map(len, message)) < _MAX_WORDS:
                message.append(right)
            continue
        end_system()
        if named is None:
            system, entity, group = "", "", left.strip()
            if group == _WHOLE:
                _add_system("", "", right, "", index, reading)
        elif len(named["depth"]) <= 1:
            entity, system = _format_part_name(group, named["name"].strip()), ""
            if _STATES.get(right.lower()) is PASS:
                _add_system(entity, "", right, "", index, reading)
        else:
            system, state, message, at_line = named["name"].strip(), right, [], index
    end_system()
    reading.last_line = last


def _format_part_name(group: str, name: str) -> str:
    """``gpu 5``; DCGM counts GPUs as nvidia-smi does."""
    return f"{group.lower()[:16] or 'gpu'} {name[:16]}"


def read_health_json(text: str, reading: Reading) -> None:
    for document in iterate_documents(text, reading):
        body = document.get("body") if isinstance(document, Mapping) else None
        for group, tree in (body if isinstance(body, Mapping) else {}).items():
            if not isinstance(tree, Mapping):
                continue
            if group == _WHOLE:
                _add_system("", "", find_text(tree, "value"), "", 1, reading)
                continue
            for name, entity in iterate_children(tree):
                _read_entity(_format_part_name(str(group), name), entity, reading)


def _read_entity(entity: str, tree: _Json, reading: Reading) -> None:
    found = list(_iterate_systems(tree, 0))
    state = find_text(tree, "value") or find_text(tree, _WHOLE)
    if not found and state:
        _add_system(entity, "", state, "", 1, reading)
    for name, system in found:
        pieces = system.get("overflow")
        parts = [one for one in pieces if isinstance(one, str)] if isinstance(pieces, list) else []
        message = (" ".join(parts) or find_text(system, "Error", "error"))[:_MAX_WORDS]
        _add_system(entity, name, find_text(system, "value"), message, 1, reading)


def _iterate_systems(tree: _Json, depth: int) -> Iterator[tuple[str, _Json]]:
    """The leaves below an entity; "Errors" stands between."""
    for name, child in iterate_children(tree):
        if depth < _MAX_DEPTH and next(iterate_children(child), None) is not None:
            yield from _iterate_systems(child, depth + 1)
        else:
            yield name, child


def iterate_children(tree: _Json) -> Iterator[tuple[str, _Json]]:
    found = tree.get("children", tree)
    for name, child in (found if isinstance(found, Mapping) else {}).items():
        if isinstance(child, Mapping):
            yield str(name), child


# dcgmi nvlink -s: the place in a row is the link's number. A GPU whose links are all down may be a
# card without a bridge: a link that is down fails where another one of the same node is up. A
# port of a switch warns: what hangs on it is not said.


def judge_nvlink(blocks: Sequence[Block], reading: Reading) -> None:
    """The links of GPUs and switches, a letter each."""
    rows = [one for one in blocks if "links" in one and "number" in one]
    gpus = [one for one in rows if one.get("kind").lower() == "gpuid"]
    any_up = any("U" in one.get("links") for one in gpus)
    for one in rows:
        is_gpu = one in gpus
        links = "".join(one.get("links").split())
        down = [str(place) for place, state in enumerate(links) if state == "D"]
        outcome = FAIL if any_up and is_gpu else WARN
        part = f"{'gpu' if is_gpu else 'nvswitch'} {one.get('number')}"
        add_links("dcgm.nvlink", part, down, len(links), outcome, one.line, reading)
