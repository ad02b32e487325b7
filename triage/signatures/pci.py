"""PCI addresses as logs print them, in the one form in which they are joined."""

import re

from triage.domain.patterns import compile_re

# 0000:9b:00.0, 9b:00, 00000000:9B:00.0, PCI:0000:9b:00
_ADDRESS = compile_re(
    r"(?:(?P<domain>[0-9a-f]{1,8}):)?(?P<bus>[0-9a-f]{2}):(?P<device>[0-9a-f]{2})"
    r"(?:\.(?P<function>[0-7]))?",
    re.IGNORECASE,
)


def normalize_bus_id(text: str) -> str | None:
    """``dddd:bb:dd``, lower case, without the function; None where ``text`` is no address."""
    match = _ADDRESS.search(text)
    return None if match is None else _join_address(match)


def normalize_full_address(text: str) -> str | None:
    """As :func:`normalize_bus_id`, with the function where one is printed."""
    match = _ADDRESS.search(text)
    if match is None:
        return None
    function = match["function"]
    return _join_address(match) + ("" if function is None else f".{function}")


def _join_address(match: "re.Match[str]") -> str:
    # nvidia-smi prints eight digits of the domain; a real one needs four, under VMD five.
    domain = (match["domain"] or "0").lower().lstrip("0").zfill(4)
    return f"{domain}:{match['bus'].lower()}:{match['device'].lower()}"
