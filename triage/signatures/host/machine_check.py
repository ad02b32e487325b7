"""The status word of a machine check bank: what failed, and how badly.

The low 16 bits are the error code, the same on every x86: a memory controller has a
range of its own, caches, translation buffers and the interconnect are the processor.
"""

from triage.domain.category import Category
from triage.signatures.severity import CORRECTED, ERROR, FATAL

_UNCORRECTED = 1 << 61
_CONTEXT_CORRUPT = 1 << 57
_ERROR_CODE = 0xEFFF  # without bit 12, which only says that reports are being filtered
_MEMORY_CONTROLLER = 0xFF80
_MEMORY_CONTROLLER_CODES = (0x0080, 0x0280)  # the second range: a memory used as a cache


def classify_status(status: int) -> Category:
    """Memory where its controller reports, else the processor."""
    if status & _ERROR_CODE & _MEMORY_CONTROLLER in _MEMORY_CONTROLLER_CODES:
        return Category.HOST_MEMORY
    return Category.CPU


def rate_severity(status: int) -> str:
    """Fatal where the processor's own state is lost."""
    if status & _CONTEXT_CORRUPT:
        return FATAL
    return ERROR if status & _UNCORRECTED else CORRECTED
