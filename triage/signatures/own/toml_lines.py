"""On which line of a TOML file an entry of a list of tables stands, and a key of it."""

from typing import Final

from triage.domain.patterns import compile_re

_HEADER: Final = compile_re(r"\s*\[\[?\s*([\w.-]+)\s*\]\]?\s*(?:#.*)?")
_KEY: Final = compile_re(r"\s*[\"']?([\w-]+)[\"']?\s*=")
_LONG: Final = ('"""', "'''")


class TomlLines:
    """The headers ``[[NAME]]`` and ``[NAME]`` of a text that is TOML, and the keys below each."""

    def __init__(self, text: str) -> None:
        self.headers: dict[str, list[int]] = {}
        self.keys: dict[tuple[int, str], int] = {}
        current, inside = 0, ""
        for number, line in enumerate(text.split("\n"), start=1):
            if not inside:
                if header := _HEADER.fullmatch(line.rstrip("\r")):
                    current = number
                    self.headers.setdefault(header[1], []).append(number)
                elif key := _KEY.match(line):
                    self.keys.setdefault((current, key[1]), number)
            inside = _find_open_quotes(line, inside)

    def entry(self, table: str, index: int) -> int:
        """The line of the entry ``index`` (from 0) of ``table``; 1 where it cannot be told."""
        headers = self.headers.get(table, [])
        if index < len(headers):
            return headers[index]
        return self.keys.get((0, table), 1)

    def key(self, table: str, index: int, key: str) -> int:
        """The line of a key of that entry, else the entry's."""
        entry = self.entry(table, index)
        return self.keys.get((entry, key), entry)


def _find_open_quotes(line: str, quote: str) -> str:
    """The quotes of the text of several lines that ``line`` ends in; ``quote`` those before it."""
    at = 0
    while True:
        if quote:
            found = line.find(quote, at)
            if found < 0:
                return quote
            at, quote = found + 3, ""
            continue
        starts = [(line.find(one, at), one) for one in _LONG if line.find(one, at) >= 0]
        if not starts:
            return ""
        place, quote = min(starts)
        at = place + 3
