"""Pasted: commands for a person to copy, one a line."""

from collections.abc import Callable, Sequence

from triage.notify.neutral import ELLIPSIS

__all__ = ["pasted"]


def pasted(actions: Sequence[str], limit: int, made_safe: Callable[[str, int], str]) -> str:
    """Whole commands only, in about ``limit`` characters: half of one is worse than none.

    ``made_safe(text, limit)`` is the receiver's own way to make text harmless.
    """
    kept: list[str] = []
    for action in actions:
        line = made_safe(action, limit)
        if ELLIPSIS in line or sum(map(len, kept)) + len(kept) + len(line) > limit:
            kept.append(f"# {len(actions) - len(kept)} more in the report")
            break
        kept.append(line)
    return "\n".join(kept)
