r"""Whether what a pattern found is a secret: what no pattern can say in linear time.

Of what only its name tells (`PASSWORD=hunter`, `"api_key": "..."`, `token: a1b2c3`) a name counts
by how it ends. What stands behind it must not be code, a type, a word of a sentence or a
placeholder: `password=password`, `api_key: str`, `token=<pad>`.
"""

import re
from typing import Final

from triage.domain.patterns import compile_re
from triage.domain.toml_tables import read_toml
from triage.parsers.redact.secret import is_mixed, is_random

_NAMES: Final[dict[str, tuple[bytes, ...]]] = {
    name: tuple(word.encode() for word in words)
    for name, words in read_toml("triage.parsers.redact", "secrets")["names"].items()
}
_STRONG_KEYS: Final = (*(word + b"key" for word in _NAMES["keys"]), b"keydata", b"keybase64")
# `_pass` and `StoragePass`, but not `bypass`, `compass`, `forward pass`.
_SHORT_PASS: Final = compile_re(
    rb"(?:[_.-]|[a-z](?=P)|^(?:db|ssh|user|admin|root|sql|ldap|bmc|ipmi|mysql|redis|smtp)_?)"
    rb"(?i:pass|pw|pwd)$|^(?i:uid|user)?;?PWD$"
)
NOT_WORDS: Final = frozenset(_NAMES["not_words"])
_CODE: Final = compile_re(
    rb"[A-Za-z_][A-Za-z0-9_.]{0,80}[(\[]|(?:self|args|cfg|config|os|opts?|options|env|environ|"
    rb"request|settings|kwargs|params?|hparams|flags|FLAGS|conf)\.[A-Za-z_]"
)
_PLAIN_WORD: Final = compile_re(rb"[A-Za-z][A-Za-z_.]{0,254}")
_PATH: Final = compile_re(
    rb"(?:~|\.{1,2}|[A-Za-z]:)?[/\\][A-Za-z0-9._/\\-]{1,255}|[a-z]{2,10}://.{0,255}"
)
_NEXT_NAME: Final = compile_re(rb"[ \t]*(?:$|[,;&}]?[ \t]*[\"']?[A-Za-z_.-]{1,40}[\"']?[=:]|[}])")
_IDENTIFIER: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
# A key may have a name of two words: `API key: ...`.
_WORD_BEFORE_KEY: Final = compile_re(
    rb"(?i:api|access|secret|private|account|storage|license|signing|encryption) $"
)
_NUMBER: Final = compile_re(rb"[0-9.,:_-]{1,40}[a-z%/]{0,4}")
_ODD: Final = compile_re(rb"[0-9!@#$%^&*+/=~-]")


def is_plain_word(word: bytes) -> bool:
    """Whether it is a word of letters that says something of a secret rather than being one."""
    low = word.lower().strip(b"._")
    return low in NOT_WORDS or any(
        part in low for part in (b"passw", b"secret", b"token", b"getenv", b"credential")
    )


def _find_whole_name(found: re.Match[bytes], start: int) -> bytes:
    """The whole name of which the pattern matched the end, and which goes on before ``start``."""
    before = found.string[max(0, start - 64) : start]
    return before[len(before.rstrip(_IDENTIFIER)) :] + found.string[start : found.end("name")]


def _get_value(found: re.Match[bytes]) -> tuple[bytes, bool]:
    """The value, and whether it stands in quotes."""
    for group in "sqe":
        if found[group] is not None:
            return found[group], True
    return found["b"], False


def is_assigned(found: re.Match[bytes]) -> bool:
    """Whether what stands behind this name is a secret."""
    start = found.start("name")
    word = _WORD_BEFORE_KEY.search(found.string, max(0, start - 11), start)
    if word and found["name"][:1] in b"Kk" and _is_assigned_to(found, word.start()):
        return True
    return _is_assigned_to(found, start)


def _is_assigned_to(found: re.Match[bytes], start: int) -> bool:
    """The same of the name of which the last word begins at ``start``."""
    name = _find_whole_name(found, start)
    value, quoted = _get_value(found)
    if found["sign"] in (b">", b"->"):
        # <password>hunter</password>; an arrow of a program has no tag before its name.
        before = found.string[:start].rpartition(b"<")
        if found["sign"] == b"->" or not before[1] or len(before[2]) > 40 or b">" in before[2]:
            return False
        return not _NUMBER.fullmatch(value)
    flat = re.sub(rb"[_. -]", b"", name.lower())
    upper = name.isupper() and found["sign"] == b"="
    if flat.endswith((b"password", b"passwd", b"passphrase", b"passwort")):
        return _is_password(found, value, quoted, upper)
    if flat.endswith(_NAMES["passwords"]):
        return bool(_SHORT_PASS.search(name)) and not _NUMBER.fullmatch(value) and _is_password(
            found, value, quoted, upper
        )  # fmt: skip
    if flat.endswith((b"key", b"keydata", b"keybase64")):
        if flat.endswith(_NAMES["public_keys"]):
            return False
        return _is_key(flat, value, quoted, upper)
    if _PATH.fullmatch(value) and not is_random(value):
        return False
    if upper:
        return not _CODE.match(value)
    return len(value) >= 4 and (quoted or _is_odd(value))


def _is_password(found: re.Match[bytes], value: bytes, quoted: bool, upper: bool) -> bool:
    if quoted or upper:
        return quoted or not _CODE.match(value)
    if _CODE.match(value):
        return False
    if not _PLAIN_WORD.fullmatch(value):
        return len(value) >= 4 and _is_odd(value)
    if is_plain_word(value) or len(value) < 5:
        return False
    after = found.string[found.end("b") : found.end("b") + 60].partition(b"\n")[0]
    if found["sign"] == b":":
        return bool(_NEXT_NAME.match(after))
    return after[:1] in (b"", b" ", b"\t", b";", b"&", b"<")


def _is_key(flat: bytes, value: bytes, quoted: bool, upper: bool) -> bool:
    if flat.endswith(_STRONG_KEYS):
        if _PATH.fullmatch(value) and not is_random(value):
            return False
        return quoted or upper or (len(value) >= 4 and _is_odd(value) and not _CODE.match(value))
    if len(value) >= 16 and is_mixed(value) and not _PATH.fullmatch(value):
        return not _CODE.match(value)
    return upper and len(value) >= 20 and b"/" not in value and is_random(value)


def _is_odd(value: bytes) -> bool:
    """Whether it holds a digit or a sign, and is more than a word, a number, a call of code."""
    return (
        bool(_ODD.search(value))
        and not _CODE.match(value)
        and not re.match(rb"[A-Za-z_.]{1,255}(?:[^!-~]|[(),;\[\]]|$)", value)
    )


def is_token(found: re.Match[bytes]) -> bool:
    """Whether a name's token is one of people, not one of a vocabulary."""
    value, quoted = _get_value(found)
    name = _find_whole_name(found, found.start("name"))
    if value.startswith((b"[", b"0x", b"<")) or _NUMBER.fullmatch(value) or _CODE.match(value):
        return False
    if found["sign"] in (b">", b"->"):
        return is_random(value)
    if _PATH.fullmatch(value) and not is_random(value):
        return False
    if name.isupper() and found["sign"] in (b"=", b":"):
        return found["sign"] == b"=" or quoted
    has_both = re.search(rb"[0-9]", value) and re.search(rb"[A-Za-z]", value)
    fits = re.fullmatch(rb"[A-Za-z0-9_.+/=~:%-]{8,1024}", value)
    return bool(fits) and bool(has_both or (len(value) >= 16 and is_random(value)))


def is_spoken(found: re.Match[bytes]) -> bool:
    """Whether a sentence gives a secret: with a letter and a digit, and no code."""
    word = found["b"].rstrip(b".")
    return bool(re.search(rb"[0-9]", word) and re.search(rb"[A-Za-z]", word)) and not _CODE.match(
        word
    )  # fmt: skip


def is_option(found: re.Match[bytes]) -> bool:
    """Not the help of a command (`--password PASSWORD`), nor a sentence about it."""
    value = found["s"].rstrip(b"]),.;:")
    name = found["name"].lower()
    if len(value) < 3 or (value.isupper() and value.isalpha()) or value.startswith((b"$", b"@")):
        return False
    if is_plain_word(value) or re.match(rb"[A-Za-z_][\w.]*[(\[]", value):
        return False
    if name in (b"password", b"passwd", b"passphrase", b"pass", b"pwd"):
        return len(value) >= 5 and not re.fullmatch(rb"[0-9.]{1,5}", value)
    if value.startswith((b"/", b"./", b"~")) and not is_random(value):
        return False
    has_sign = re.search(rb"[0-9]", value) and re.search(rb"[A-Za-z]", value)
    return len(value) >= 6 and (bool(has_sign) or is_random(value) or b"-" in value)


def is_typed(found: re.Match[bytes]) -> bool:
    """Whether what stands behind a question is an answer, and no word about it."""
    word = found["s"].rstrip(b".,!")
    if is_plain_word(word) or word.startswith((b"(", b"[", b"<", b"$", b"http")):
        return False
    return not re.fullmatch(rb"[A-Za-z]{1,3}|[*.]+", word)


def is_next_word(found: re.Match[bytes]) -> bool:
    """Whether the next word of a command is a value, and no option or variable."""
    word = found["s"]
    return not is_plain_word(word) and not word.startswith((b"$", b"-", b"<", b"%"))


def is_signature(found: re.Match[bytes]) -> bool:
    """Whether a signature is random."""
    return is_random(found["s"])


def is_query(found: re.Match[bytes]) -> bool:
    """Whether a value of a query is a secret: by its name, else by its letters."""
    name = found[0][: found.start("s") - found.start()].lower()
    if b"pass" in name or b"pwd" in name or b"secret" in name:
        return True
    return len(found["s"]) >= 12 and is_random(found["s"])


def is_password_of_url(found: re.Match[bytes]) -> bool:
    """A port and a path are no password: `http://host:8080/a@b`, `docker://registry:5000/x@sha256:`."""
    return not re.match(rb"[0-9]{1,5}(?:/|$)", found["s"])


def is_header(found: re.Match[bytes]) -> bool:
    """Whether what a header holds is a secret, and no word of a sentence."""
    value = found["s"]
    return len(value) >= 16 or bool(re.search(rb"[0-9]", value)) or b":" not in found["sign"]


def has_random_tail(found: re.Match[bytes]) -> bool:
    """Whether what stands behind a prefix is random."""
    return is_random(found["tail"])


def has_mixed_tail(found: re.Match[bytes]) -> bool:
    """Whether what stands behind a prefix has letters of both cases and digits."""
    return is_mixed(found["tail"])


def is_whole_mixed(found: re.Match[bytes]) -> bool:
    """Whether all of it has letters of both cases and digits."""
    return is_mixed(found[0])
