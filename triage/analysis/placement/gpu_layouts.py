"""Which GPU of a node an address is, where no line of the job says it.

CUDA and nvidia-smi number equal GPUs in the order of their PCI addresses, so an address
is a local rank as soon as all addresses of a node are known: from the logs of all its
sister nodes together, or because the machine is of a type that is built only one way.
"""

from collections.abc import Collection, Mapping
from typing import Final


def _parse_addresses(text: str) -> tuple[str, ...]:
    return tuple(one if ":" in one else f"0000:{one}:00" for one in text.split())


# As nvidia-smi and rocm-smi list them on these machines in vendors' documents and public reports.
_LAYOUTS: Final[Mapping[str, tuple[str, ...]]] = {
    "DGX A100": _parse_addresses("07 0f 47 4e 87 90 b7 bd"),
    "DGX H100 and H200": _parse_addresses("1b 43 52 61 9d c3 d1 df"),
    "HGX H100, 8U servers": _parse_addresses("18 2a 3a 5d 9a ab ba db"),
    "Dell XE9680": _parse_addresses("19 3b 4c 5d 9b bb cb db"),
    "AWS p4d": _parse_addresses(
        "0000:10:1c 0000:10:1d 0000:20:1c 0000:20:1d 0000:90:1c 0000:90:1d 0000:a0:1c 0000:a0:1d"
    ),
    "AWS p5": _parse_addresses("53 64 75 86 97 a8 b9 ca"),
    "Azure ND A100 v4": _parse_addresses(
        "0001:00:00 0002:00:00 0003:00:00 0004:00:00 000b:00:00 000c:00:00 000d:00:00 000e:00:00"
    ),
    "Azure ND H100 v5": _parse_addresses(
        "0001:00:00 0002:00:00 0003:00:00 0008:00:00 0009:00:00 000a:00:00 000b:00:00 000c:00:00"
    ),
    "Google A3": _parse_addresses("04 05 0a 0b 84 85 8a 8b"),
    "GB200 and GB300 NVL72": _parse_addresses("0008:01:00 0009:01:00 0018:01:00 0019:01:00"),
    "MI300X, 8U servers": _parse_addresses("05 26 46 65 85 a6 c6 e5"),
}


def infer_layout(seen: Collection[str], per_node: int) -> tuple[str, ...]:
    """The addresses of a node's GPUs by index; empty where they are not known for certain.

    ``seen`` are the addresses of GPUs on nodes of one type, ``per_node`` how many a node has.
    """
    if not seen or per_node < 1:
        return ()
    if len(seen) == per_node:
        return tuple(sorted(seen))
    fitting = [
        layout
        for layout in _LAYOUTS.values()
        if len(layout) == per_node and set(seen) <= set(layout)
    ]
    # One address may be that of many a machine that is not in the table.
    return fitting[0] if len(fitting) == 1 and len(seen) > 1 else ()
