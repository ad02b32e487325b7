"""Names of hosts, and Slurm's lists of them: ``gpu[001-128,130],login1`` as names.

The grammar is Slurm's own: commas part hosts, brackets hold numbers and ranges, a range
keeps the width of its first number, several brackets multiply.

Names in the order that people count in: n2 before n10.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final

from triage.domain.patterns import compile_re

_DIGITS = compile_re(r"([0-9]{1,18})")


def make_natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key to sort names by: their numbers as numbers, what stands between as text."""
    return tuple(
        (1, int(part), part) if index % 2 else (0, 0, part)
        for index, part in enumerate(_DIGITS.split(name))
    )


MAX_HOSTS: Final = 20_000
_MAX_CHARS: Final = 1 << 18
_RANGE: Final = compile_re(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", re.ASCII)
# gpu[001-128,130]-ib[0-1]
_PART: Final = compile_re(r"([^\[\],\s]*)(?:\[([^\[\]]*)\])?")

# gpu-a-017: the number at the end of a name.
_LAST_NUMBER: Final = compile_re(r"(.*?)([0-9]{1,9})", re.ASCII)

_MAX_NAME: Final = 253
# n3, gpu-a-017.cluster.local, N2_b; never a blank, a quote, a leading dash or a sign of markup.
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?"
_NAME: Final = compile_re(rf"{_LABEL}(?:\.{_LABEL})*", re.ASCII)


def is_host_name(text: str) -> bool:
    """Whether ``text`` is a plain host name: such a name alone is acted on, or put in a command.

    >>> is_host_name("gpu-a-017.cluster.local"), is_host_name("n<img src=x>")
    (True, False)
    """
    return len(text) <= _MAX_NAME and _NAME.fullmatch(text) is not None


def expand(expression: str) -> list[str]:
    """The names in order. Raises ``ValueError``, which says what is wrong where."""
    if len(expression) > _MAX_CHARS:
        raise ValueError(f"the host list is longer than {_MAX_CHARS:,} characters")
    nodes: list[str] = []
    for item in _get_items(expression):
        room = MAX_HOSTS - len(nodes)
        nodes.extend(_expand_item(item, room))
    return list(dict.fromkeys(nodes))


def format_host_list(names: Iterable[str]) -> str:
    """The names as one Slurm host list that :func:`expand` reads back, in their order.

    Names that follow each other and differ by the number at their end share brackets.

    >>> host_list(["gpu008", "gpu009", "gpu010", "gpu012", "login"])
    'gpu[008-010,012],login'
    """
    parts: list[tuple[str, list[tuple[str, str]]]] = []
    for name in names:
        match = _LAST_NUMBER.fullmatch(name)
        stem, digits = (match[1], match[2]) if match else (name, "")
        if parts and parts[-1][0] == stem and digits and parts[-1][1]:
            ranges = parts[-1][1]
            first, last = ranges[-1]
            if int(digits) == int(last) + 1 and f"{int(digits):0{len(first)}d}" == digits:
                ranges[-1] = (first, digits)
            else:
                ranges.append((digits, digits))
        else:
            parts.append((stem, [(digits, digits)] if digits else []))
    return ",".join(stem + _format_bracket(ranges) for stem, ranges in parts)


def _format_bracket(ranges: list[tuple[str, str]]) -> str:
    if not ranges:
        return ""
    shown = [first if first == last else f"{first}-{last}" for first, last in ranges]
    return shown[0] if len(shown) == 1 and "-" not in shown[0] else f"[{','.join(shown)}]"


def _get_items(expression: str) -> Iterator[str]:
    """What stands between the commas outside of brackets."""
    start, depth = 0, 0
    for place, char in enumerate(expression):
        if char == "[":
            depth += 1
        elif char == "]":
            depth -= 1
        elif char == "," and depth == 0:
            if expression[start:place].strip():
                yield expression[start:place].strip()
            start = place + 1
        if depth not in {0, 1}:
            raise ValueError(f"the host list has a bracket too many at character {place}")
    if depth:
        raise ValueError("the host list ends inside a bracket")
    if expression[start:].strip():
        yield expression[start:].strip()


def _expand_item(item: str, room: int) -> list[str]:
    choices: list[list[str]] = []
    num_hosts, place = 1, 0
    while place < len(item):
        match = _PART.match(item, place)
        if match is None or match.end() == place:
            raise ValueError(f"{item[:80]!r} is no host list")
        place = match.end()
        numbers = [""] if match[2] is None else _expand_numbers(match[2], room)
        num_hosts *= len(numbers)
        if num_hosts > room:
            raise ValueError(f"the host list names more than {MAX_HOSTS:,} hosts")
        choices.append([match[1] + number for number in numbers])
    return ["".join(parts) for parts in product(*choices)]


def _expand_numbers(ranges: str, room: int) -> list[str]:
    found: list[str] = []
    for one in ranges.split(","):
        match = _RANGE.fullmatch(one.strip())
        if match is None:
            raise ValueError(f"[{ranges[:80]}] holds no numbers and ranges")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ValueError(f"the range {one.strip()} runs backwards")
        if len(found) + last - first >= room:
            raise ValueError(f"the host list names more than {MAX_HOSTS:,} hosts")
        found += [f"{number:0{len(match[1])}d}" for number in range(first, last + 1)]
    return found
