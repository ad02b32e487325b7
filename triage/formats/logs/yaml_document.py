"""Objects of Kubernetes as YAML, and conditions cut out of them: the lines that they are as JSON.

Of YAML what ``kubectl`` prints is read: blocks of keys and of items, and scalars.

::

    name: gpu-17
    conditions:
    - type: GPUClockThrottling
      status: "True"
      lastTransitionTime: "2026-05-02T16:03:26Z"
      message: "GPU 2 runs at 345 MHz: hardware thermal slowdown"
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from triage.domain.patterns import compile_re
from triage.formats.logs.documents import DocumentFormat
from triage.formats.logs.json_document import iterate_object_lines

_BEGINS: Final = compile_re(
    r"(?:---|(?:- )?(?:apiVersion|kind|items|metadata|name|node|nodeName|hostname|conditions"
    r"|status):(?:\s|$))"
)
_OBJECT: Final = compile_re(
    r"^[ -]{0,40}(?:kind: \"?(?:Node|Event|Pod)\"?|conditions:)[ \r]*$", re.MULTILINE
)
_KEY: Final = compile_re(r"[\"']?([^\s\"'#{\[-][^\"']{0,250}?)[\"']?:(?:\s+(.*))?$")
_ITEM: Final = compile_re(r"-(?:\s+|$)")
_TEXT_BELOW: Final = compile_re(r"[|>][-+\d]{0,2}")
_NUMBER: Final = compile_re(r"-?\d{1,18}")
# Inside double quotes: a backslash of its own, and where a printer broke the line.
_BACKSLASH: Final = compile_re(r"(\\\\)|\\ (\\(?= ))?")
_MOST_DEPTH: Final = 24
# Where an object begins; no key of YAML is empty.
_AT: Final = ""
_NAMES: Final = ("name", "node", "nodeName", "hostname")


def _is_yaml_document(text: str) -> bool:
    """Whether keys of an object come first, and one of its kind or its conditions follow."""
    return _BEGINS.match(text) is not None and _OBJECT.search(text) is not None


def _iterate_yaml_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of each object, at the line where it begins."""
    rows: list[_Row] = []
    offset = 0
    for line in [*text.split("\n"), "---"]:
        bare = line.strip()
        if bare == "---" and rows:
            blocks = _Blocks(rows)
            while blocks.is_inside(0):
                for one in _list_objects(blocks.read(_MOST_DEPTH)):
                    lines = [*iterate_object_lines(one)] or [""]
                    yield from ((one[_AT], said) for said in lines)
            rows = []
        elif bare and bare[0] != "#" and bare != "---":
            rows.append(_Row(offset, len(line) - len(line.lstrip()), bare))
        offset += len(line) + 1


def _list_objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a document; conditions that were cut out of a node are a node's."""
    if isinstance(value, list):
        return [one for each in value for one in _list_objects(each)]
    if not isinstance(value, dict):
        return []
    if isinstance(value.get("items"), list):
        return _list_objects(value["items"])
    if "kind" in value:
        return [value]
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), "")
    status = value["status"] if isinstance(value.get("status"), dict) else value
    return [{"kind": "Node", "metadata": {"name": name}, **value, "status": status}]


class _Row(NamedTuple):
    """A line that is not empty: where it begins, how far it is indented, and its text."""

    offset: int
    indent: int
    text: str


class _Blocks:
    """Rows on the way to what they say, the next one at ``at``."""

    def __init__(self, rows: list[_Row]) -> None:
        self.rows = rows
        self.at = 0

    def is_inside(self, indent: int) -> bool:
        """Whether a row is left that is indented so far."""
        return self.at < len(self.rows) and self.rows[self.at].indent >= indent

    def read(self, depth: int) -> Any:
        """The items or keys at the indent of the next row; what lies too deep is passed over."""
        offset, indent, text = self.rows[self.at]
        items: list[Any] = []
        keys: dict[str, Any] = {_AT: offset}
        of_items = _ITEM.match(text) is not None
        while self.is_inside(indent):
            row = self.rows[self.at]
            item, key = _ITEM.match(row.text), _KEY.match(row.text)
            if (item is not None) != of_items:
                break
            if item is not None:
                begins, rest = row.indent + item.end(), row.text[item.end() :]
                self.rows[self.at] = _Row(row.offset, begins, rest)
                is_block = rest and depth and (_KEY.match(rest) or _ITEM.match(rest))
                self.at += not is_block
                items.append(self.read(depth - 1) if is_block else self.read_text(begins, rest))
                continue
            if key is not None and key[1] in keys and depth == _MOST_DEPTH:
                break  # files one behind the other
            self.at += 1
            if key is not None:
                keys[key[1]] = self.read_value((key[2] or "").rstrip(), indent, depth)
        return items if of_items else keys

    def read_value(self, text: str, indent: int, depth: int) -> Any:
        """What stands behind a key, or below it."""
        if text and _TEXT_BELOW.fullmatch(text) is None:
            return self.read_text(indent + 1, text)
        is_block = self.is_inside(indent + 1) or (
            self.is_inside(indent) and _ITEM.match(self.rows[self.at].text) is not None
        )
        is_block = is_block and depth > 0 and not text
        return self.read(depth - 1) if is_block else self.read_text(indent + 1)

    def read_text(self, indent: int, *words: str) -> str | int:
        """The scalar that begins with ``words`` and goes on in rows that are indented so far."""
        said = [*words]
        while self.is_inside(indent):
            said.append(self.rows[self.at].text)
            self.at += 1
        text = " ".join(said)
        if _NUMBER.fullmatch(text):
            return int(text)
        return _unquote(text)


def _unquote(text: str) -> str:
    """A scalar without its quotes, and what stands for a quote or a break inside them."""
    if len(text) < 2 or text[0] != text[-1] or text[0] not in "\"'":
        return text
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    plain = _BACKSLASH.sub(lambda found: found[1] or ("" if found[2] else " "), text)
    try:
        return str(json.loads(plain, strict=False))
    except ValueError:
        return text[1:-1]


YAML_DOCUMENT: Final = DocumentFormat(
    "yaml_document", _is_yaml_document, _iterate_yaml_lines, lambda _: True
)
