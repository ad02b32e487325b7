"""What one dump may ask for. A real dump of 20,000 entries stays below a tenth of each."""

from dataclasses import dataclass
from typing import Final

# No job is larger; a number beyond it is damage.
MAX_RANK: Final = 10_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on decoding one dump. Counts are per file, sizes in bytes.

    A file that exceeds one is refused with the name of the bound: nothing is
    allocated by a length that the file merely declares.
    """

    file_bytes: int = 64 << 20
    """After decompression. An opcode is at least a byte, so this bounds them too."""
    ratio: int = 200
    """Decompressed over compressed size, looked at once past ``ratio_floor_bytes``."""
    ratio_floor_bytes: int = 8 << 20
    text_bytes: int = 2 << 20
    """One string. The rank list of 262,144 ranks is 2 MiB of text."""
    strings: int = 1_000_000
    """Distinct strings."""
    containers: int = 4_000_000
    """Lists, tuples and dicts: an entry has about eight."""
    values: int = 12_000_000
    """Values held in containers."""
    stack: int = 2_000_000
    memo: int = 4_000_000
    open_containers: int = 16
    """Nesting of containers under construction; a dump needs five."""
    entries: int = 400_000
    """The default ring holds 2,000; 20,000 is common in large jobs."""
    json_values: int = 3_000_000


DEFAULT_LIMITS = Limits()
