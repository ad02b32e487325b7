"""``dcgmi health -c``, as a table or as JSON: what the health watches of a node complain of.

::

    | Health Monitor Report                                                                |
    | Overall Health            | Failure                                                  |
    | GPU                       |                                                          |
    | -> 5                      | Failure                                                  |
    |    -> Errors              |                                                          |
    |       -> NVLINK system    | Failure                                                  |
    |                           | GPU 5's NvLink link 11 is currently down Check DCGM      |

The right column breaks messages at 54 characters. ``-j`` has the same tree below ``body``,
with ``children`` and ``value``, the pieces of a message under ``overflow``. Neither says when
it was taken, nor where.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.json_report import documents_of, text_in
from triage.formats.health.reading import Reading, check_name, lines_of
from triage.signatures.host.agent_words import part_of_reason

__all__ = ["DCGM_HEALTH", "DCGM_HEALTH_JSON"]

TITLE: Final = "Health Monitor Report"
BOX: Final = re.compile(r"\s{0,8}\+-{10,200}\+?[^\n]*\r?\n\s{0,8}\| Health Monitor Report ")
# Keys stand in the order of the alphabet, so that the title of a long report comes late.
TREE: Final = re.compile(
    r'"body"\s{0,40}:\s{0,40}\{\s{0,40}"[A-Za-z ]{1,30}"\s{0,40}:\s{0,40}\{'
    r'\s{0,40}"(?:children|value)"'
)
# "| -> 5                      | Failure        |", "|       -> NVLINK system    | Failure  |"
ROW: Final = re.compile(r"\s{0,8}\|(?P<left>[^|]{1,80})\|(?P<right>[^|]{0,200})\|")
NAMED: Final = re.compile(r"(?P<depth>\s*)-> (?P<name>\S.*)")
OUTCOMES: Final = {
    "healthy": Outcome.PASS, "warning": Outcome.WARN, "failure": Outcome.FAIL,
}  # fmt: skip
SYSTEMS: Final = {
    "pcie": Category.IO_BOARD, "nvlink": Category.NVLINK, "nvswitch": Category.NVLINK,
    "memory": Category.GPU_HBM, "sm": Category.GPU, "inforom": Category.GPU,
    "mcu": Category.GPU, "pmu": Category.GPU, "thermal": Category.GPU_THERMAL,
    "power": Category.POWER, "driver": Category.DEPENDENCY, "connectx": Category.NIC,
}  # fmt: skip
WHOLE: Final = "Overall Health"
MAX_MESSAGE: Final = 2000
MAX_DEPTH: Final = 8


def add(entity: str, system: str, state: str, message: str, line: int, reading: Reading) -> None:
    """One system of one entity (``gpu 5``); the state of the node as a whole names no part."""
    outcome = OUTCOMES.get(state.strip().lower())
    if outcome is None:
        reading.skip(line, f"unknown state {state[:40]!r} of {system[:40]!r}")
        return
    words = system.lower().removesuffix(" system").split()
    category = SYSTEMS.get(words[0] if words else "")
    said = part_of_reason(message).category
    # A message of the memory watch may say that the GPU is gone; "reset" in one is no plan.
    if category is None or (said is not None and said in NEARER):
        category = said if said in NEARER else category or Category.GPU
    if not entity:
        category = None
    name = check_name("dcgm.health", " ".join(words) or "overall")
    reading.add(name, outcome, part=entity or None, detail=message, category=category, line=line)


NEARER: Final = frozenset(
    {
        Category.NVLINK, Category.GPU_HBM, Category.GPU_SRAM, Category.GPU_GSP,
        Category.GPU_THERMAL, Category.IO_BOARD,
    }
)  # fmt: skip


def claimed_table(head: str) -> bool:
    return BOX.match(head.lstrip("\ufeff\r\n")) is not None


def read_table(text: str, reading: Reading) -> None:
    """Rows of the tree; the message of a system stands in the rows below it."""
    group = entity = system = state = ""
    message: list[str] = []
    begun, last, at_line = False, 1, 1

    def end_system() -> None:
        if system:
            add(entity, system, state, " ".join(message), at_line, reading)

    for index, line in lines_of(text):
        row = ROW.match(line)
        if row is None:
            if begun and line.strip() and not line.lstrip().startswith(("+", "|")):
                break  # another program's line
            last = index if line.strip() else last
            continue
        begun, last = True, index
        left, right = row["left"].rstrip(), row["right"].strip()
        named = NAMED.match(left)
        if named is None:
            if not left.strip():
                if sum(map(len, message)) < MAX_MESSAGE:
                    message.append(right)
                continue
            end_system()
            system, entity, group = "", "", left.strip()
            if group == WHOLE:
                add("", "", right, "", index, reading)
            continue
        name, depth = named["name"].strip(), len(named["depth"])
        if name == "Errors":
            continue
        end_system()
        if depth <= 1:
            entity, system = part_name(group, name), ""
            if OUTCOMES.get(right.lower()) is Outcome.PASS:
                add(entity, "", right, "", index, reading)
        else:
            system, state, message, at_line = name, right, [], index
    end_system()
    reading.last_line = last


def part_name(group: str, name: str) -> str:
    """``gpu 5``; DCGM counts GPUs as nvidia-smi does."""
    return f"{group.lower()[:16] or 'gpu'} {name[:16]}"


def claimed_json(head: str) -> bool:
    if not head.lstrip("\ufeff \t\r\n").startswith("{") or TREE.search(head) is None:
        return False
    return any(name in head for name in (TITLE, f'"{WHOLE}"', '"Errors"'))


def read_json(text: str, reading: Reading) -> None:
    for document in documents_of(text, reading):
        body = document.get("body") if isinstance(document, Mapping) else None
        for group, tree in (body if isinstance(body, Mapping) else {}).items():
            if not isinstance(tree, Mapping):
                continue
            if group == WHOLE:
                add("", "", text_in(tree, "value"), "", 1, reading)
                continue
            for name, entity in children(tree):
                of_entity(part_name(str(group), str(name)), entity, reading)


def of_entity(entity: str, tree: Mapping[str, Any], reading: Reading) -> None:
    found = list(systems(tree, 0))
    state = text_in(tree, "value")
    if not found and state:
        add(entity, "", state, "", 1, reading)
    for name, system in found:
        pieces = system.get("overflow")
        parts = [one for one in pieces if isinstance(one, str)] if isinstance(pieces, list) else []
        add(entity, name, text_in(system, "value"), " ".join(parts)[:MAX_MESSAGE], 1, reading)


def systems(tree: Mapping[str, Any], depth: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The leaves below an entity; "Errors" stands between."""
    for name, child in children(tree):
        if depth < MAX_DEPTH and next(children(child), None) is not None:
            yield from systems(child, depth + 1)
        else:
            yield name, child


def children(tree: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    found = tree.get("children")
    for name, child in (found if isinstance(found, Mapping) else {}).items():
        if isinstance(child, Mapping):
            yield str(name), child


DCGM_HEALTH: Final = CheckFormat(
    "dcgm_health", claimed_table, read_table, words=("| Health Monitor Report ",)
)
DCGM_HEALTH_JSON: Final = CheckFormat(
    "dcgm_health_json", claimed_json, read_json, lines=False, words=('"body"',)
)
