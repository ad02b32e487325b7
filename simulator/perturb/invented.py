"""Sentences in alarming words from drivers that do not exist, and words that nobody ever wrote.

No signature can know them, and a reader who trusts words alone is led astray.
"""

import random
import re
from typing import Final

_ONSETS: Final = ("b", "br", "d", "dr", "f", "g", "gl", "k", "kr", "l", "m", "n", "p", "pl", "qu",
                 "r", "s", "sk", "st", "t", "tr", "v", "w", "z")  # fmt: skip
_VOWELS: Final = ("a", "e", "i", "o", "u", "ai", "ou")
_CODAS: Final = ("", "l", "m", "n", "r", "x", "lt", "nd", "rk", "sk")
_ALARMS: Final = (
    "error", "failed", "timeout", "fatal", "critical", "abort", "lost", "stuck", "not responding",
    "unrecoverable", "dead", "panic requested", "hardware fault", "uncorrectable",
)  # fmt: skip
_SHAPES: Final = (
    "{thing} {number}: {alarm} ({other} 0x{hex})",
    "{alarm}: {thing} did not answer {other} within {number} ms",
    "*ERROR* {thing} {alarm}, {other} reset scheduled",
    "{other} {alarm} on {thing} {number}, status 0x{hex}",
    "failed to {verb} {thing} {number}: -{small}",
    "CRITICAL {thing} {other} {alarm} [{number}]",
    "{thing}_{verb}: {alarm}, dropping {number} {other}s",
)
_WORD: Final = re.compile(r"[A-Za-z]{3,}")
# "mlx5_core 0000:4f:00.0 mlx5_1:", "NVRM:", "nvme nvme2:", "[rank3]:", "EXT4-fs (nvme0n1p2):"
_DRIVER: Final = re.compile(
    r"(?:\[[\w :|/=.-]{1,60}\]:? ?)*(?:[\w.-]{1,40}(?:\[\d+\])?"
    r"(?: \([\w:.-]+\)| [0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]| [a-z_]{2,12}\d+\w*)*: )?"
)


def strange_word(rng: random.Random) -> str:
    """A word that stands in no dictionary."""
    parts = [rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(rng.choice((2, 3)))]
    return "".join(parts) + rng.choice(_CODAS)


def driver(rng: random.Random) -> str:
    """What an unfamiliar driver writes before its sentences."""
    name = strange_word(rng)
    bus = f"0000:{rng.randrange(16, 240):02x}:00.{rng.randrange(2)}"
    return rng.choice((f"{name} {bus}: ", f"{name}{rng.randrange(4)}: ", f"{name}_core: "))


def alarm(rng: random.Random) -> str:
    """An alarming sentence, without the driver in front."""
    words = {
        "thing": strange_word(rng),
        "other": strange_word(rng),
        "verb": strange_word(rng),
        "alarm": rng.choice(_ALARMS),
        "number": str(rng.randrange(1, 5000)),
        "hex": f"{rng.randrange(16**4):04x}",
        "small": str(rng.randrange(1, 120)),
    }
    return rng.choice(_SHAPES).format(**words)


def reworded(text: str, rng: random.Random) -> str:
    """The sentence in words never seen; what stands before it and its numbers stay."""
    begin = _DRIVER.match(text)
    start = begin.end() if begin is not None else 0
    new_words: dict[str, str] = {}

    def replaced(match: "re.Match[str]") -> str:
        word = match[0]
        new = new_words.setdefault(word.lower(), strange_word(rng))
        if word.isupper():
            return new.upper()
        return new.capitalize() if word[0].isupper() else new

    return text[:start] + _WORD.sub(replaced, text[start:])
