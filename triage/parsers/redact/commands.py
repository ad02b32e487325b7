"""Secrets on command lines and behind prompts: `curl -u`, `mysql -p`, `--password`, `Password:`."""

import re
from typing import Final

from triage.parsers.redact.named import NOT_A_VALUE, is_plain_word
from triage.parsers.redact.secret import WORD_START, any_word, is_random, secret

__all__ = ["COMMANDS"]

# Options between a program and the one that counts.
OPTIONS: Final = rb"(?:[ \t]+[^\s|;&]{1,256}){0,24}?"
QUOTE: Final = rb"[\"']?"
WORD: Final = rb"[^\s\"'|;&<>]"
# The search jumps to the dash that begins a pattern, and then looks at what stands before it.
FLAG: Final = rb"-(?<![A-Za-z0-9_-]-)-?[A-Za-z0-9_.-]{0,40}(?P<name>(?i:%s))" + (
    rb"[\"']?(?:[ \t]{1,4}|=|[\"'],[ \t]?)\\?[\"']?" + NOT_A_VALUE
    + rb"(?P<s>(?!-)[^\s\"'\\]{3,1024})"
)  # fmt: skip
PASSWORD_FLAGS: Final = rb"password|passwd|passphrase|pass|pwd"
TOKEN_FLAGS: Final = (
    rb"token|api[_-]?key|access[_-]?key|secret[_-]?key|key-secret|account-key|secret|auth|"
    rb"credentials?"
)
ASKS: Final = any_word(
    rb"paste", rb"enter", rb"type", rb"retype", rb"re-enter", rb"input", rb"provide", rb"new",
    rb"old", rb"current", rb"sudo\]?", rb"ssh", rb"vault", rb"bmc", rb"root", rb"admin",
    after=rb"(?<![A-Za-z]{2})",
) + (
    rb"(?i:(?![A-Za-z])[^\n]{0,120}?(?:api[ _-]?key|token|passw(?:or)?d|"
    rb"passphrase|pass phrase|secret|credential|access key|otp|pin)(?![A-Za-z])[^:\n]{0,120}"
    rb"(?::/?/?[^:\s]{1,80}){0,2}['\"]?):[ \t]{0,4}(?P<s>[^\s\"']{4,1024})(?=[ \t]*(?:$|[\r\n\"']))"
)  # fmt: skip
PASSWORD_FOR: Final = any_word(rb"password", rb"passphrase", rb"token", rb"username") + (
    rb"(?i: for ['\"]?[^\s'\"]{1,200}['\"]?(?:[ \t]+at[ \t]+\S{1,80})?):[ \t]{1,4}"
    rb"(?P<s>[^\s\"']{4,1024})"
)
TOOLS: Final = rb"(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump|mycli)"
# Programs, and the option by which each takes a password as the next word.
NEXT_WORD: Final = (
    rb"sshpass[ \t]+-p|redis-cli" + OPTIONS + rb"[ \t]+(?:-a|--pass)|mongo(?:sh|dump|restore)?"
    + OPTIONS + rb"[ \t]+-p|ipmitool" + OPTIONS + rb"[ \t]+-P|i?dracadm" + OPTIONS
    + rb"[ \t]+-p|racadm" + OPTIONS + rb"[ \t]+-p|redfishtool" + OPTIONS
    + rb"[ \t]+-p|ldap(?:search|add|modify|whoami|delete)" + OPTIONS
    + rb"[ \t]+-w|(?:docker|podman|nerdctl|helm|oras|skopeo|buildah)[ \t]+(?:registry[ \t]+)?login"
    + OPTIONS + rb"[ \t]+-p|mosquitto_(?:pub|sub)" + OPTIONS + rb"[ \t]+-P|sqlcmd" + OPTIONS
    + rb"[ \t]+-P|cqlsh" + OPTIONS + rb"[ \t]+-p|htpasswd[ \t]+-[a-zA-Z]*b[a-zA-Z]*[ \t]+\S{1,200}[ \t]+"  # noqa: E501
    + rb"\S{1,64}|(?:zip|unzip)" + OPTIONS + rb"[ \t]+-P|rabbitmqctl[ \t]+(?:add_user|change_password|"  # noqa: E501
    + rb"authenticate_user)[ \t]+\S{1,64}|vault[ \t]+login(?:[ \t]+-[^\s]{1,80}){0,4}|az[ \t]+login"
    + OPTIONS + rb"[ \t]+-p|snmp[a-z]{2,12}" + OPTIONS + rb"[ \t]+-[cAX]|psql" + OPTIONS
    + rb"[ \t]+-W|influx" + OPTIONS + rb"[ \t]+(?:-t|-p)|requirepass|masterauth|ngc" + OPTIONS
    + rb"[ \t]+--api-key|aws[ \t]+configure[ \t]+set[ \t]+(?:[\w.-]+\.)?aws_(?:secret_access_key|session_token)|"  # noqa: E501
    + rb"(?:huggingface-cli|hf|wandb|gh|glab|kaggle|ngrok|comet|neptune|clearml)[ \t]+(?:auth[ \t]+)?"  # noqa: E501
    + rb"(?:login|authtoken|config[ \t]+add-authtoken)(?:[ \t]+--?[a-z-]{1,24}){0,3}"
)  # fmt: skip
USER_AND_PASSWORD: Final = (
    rb"(?:curl|wget|http|https|xh|etcdctl|influx|consul|nats|elasticdump|aria2c|lftp)" + OPTIONS
    + rb"[ \t]+(?:-u|-a|--user|--proxy-user|-U|--auth|--userpwd)(?:[ \t]+|=)?" + QUOTE
    + rb"[^\s:\"'$-][^\s:\"']{0,255}:(?!\$|//)(?P<s>[^\s\"']{1,512})"
)  # fmt: skip
PIPED: Final = (
    rb"(?:echo|printf)[ \t]+(?:-[en]{1,2}[ \t]+)?[\"']?(?:%s\\?n?[\"']?[ \t]+[\"']?)?(?:[A-Za-z0-9_.-]{1,64}:)?"  # noqa: E501
    rb"(?P<s>[^\s\"'$|][^\s\"'|]{2,1024})[\"']?[ \t]*\|[ \t]*[^|\n]{0,120}?"
    rb"(?:--password-stdin|--stdin|chpasswd|sudo[ \t]+-S|--with-token|wandb[ \t]+login|cryptsetup|"
    rb"base64[ \t]+(?:-d|--decode)[ \t]*>[ \t]*\S{0,200}(?:key|pem|rsa|secret)|kinit|--token-stdin)"
)


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
    word = found["s"].rstrip(b".,!")
    if is_plain_word(word) or word.startswith((b"(", b"[", b"<", b"$", b"http")):
        return False
    return not re.fullmatch(rb"[A-Za-z]{1,3}|[*.]+", word)


def is_next_word(found: re.Match[bytes]) -> bool:
    word = found["s"]
    return not is_plain_word(word) and not word.startswith((b"$", b"-", b"<", b"%"))


COMMANDS: Final = (
    secret("password", FLAG.replace(b"%s", PASSWORD_FLAGS), "ord%", "swd%", "ssph", "ass=", "ass ",
           'ass"', "pwd%", check=is_option),
    secret("token", FLAG.replace(b"%s", TOKEN_FLAGS), "ken%", "key%", "ret%", "uth=", "uth ",
           "ial%", "als%", check=is_option),
    secret("password", rb"(?<![A-Za-z0-9_])" + USER_AND_PASSWORD, "curl", "wget", "ttp ", "tps ", "~xh ",  # noqa: E501
           "tcdc", "infl", "nsul", "nats", "ia2c", "lftp"),
    secret("password", rb"(?<![A-Za-z0-9_])" + TOOLS + OPTIONS + rb"[ \t]+-p" + QUOTE
           + rb"(?P<s>[^\s\"'|;&<>-]" + WORD + rb"{0,255})", "mysq", "iadb", "mycl"),
    secret("password", rb"(?<![A-Za-z0-9_])(?:" + NEXT_WORD + rb")(?:[ \t]+|=)" + QUOTE
           + rb"(?P<s>[^\s\"'|;&<>]{3,512})", "sshp", "edis", "mong", "ipmi", "adm%", "shto",
           "ldap", "ogin", "mosq", "sqlc", "cqls", "htpa", "zip%", "rabb", "vaul", "snmp", "psql",
           "infl", "irep", "erau", "~ngc", "figu", "htok", check=is_next_word),
    secret("password", rb"(?<![A-Za-z0-9_])(?:smbclient|net|rpcclient|mount\.cifs)" + OPTIONS
           + rb"[ \t]+-U[ \t]?" + QUOTE + rb"[^\s%\"']{1,64}%(?P<s>[^\s\"']{1,256})", "smbc", "rpcc"),  # noqa: E501
    secret("password", rb"(?<![A-Za-z0-9_])7z[az]?" + OPTIONS + rb"[ \t]+-p(?P<s>" + WORD
           + rb"{1,255})", "~7z ", "~7za"),
    secret("password", rb"[-,](?i:(?<=-)pass(?:in|out)?[ \t]+pass:|"
           rb"(?<=,)(?:username=[^,\s]{0,64},)?password=)"
           rb"(?P<s>[^\s,\"']{1,256})", "ass:", "ord="),
    secret("password", WORD_START + rb"login[ \t]+[^\s]{1,200}[ \t]+password[ \t]+(?P<s>[^\s]{1,512})",  # noqa: E501
           "ogin"),
    secret("password", rb"(?i:identified[ \t]+(?:with[ \t]+\S{1,40}[ \t]+)?by[ \t]+|"
           rb"with[ \t]+(?:encrypted[ \t]+)?password[ \t]+)['\"](?P<s>[^'\"\n]{1,256})", "tifi",
           "ssw%", "ord "),
    secret("password", ASKS, "key:", "ken:", "ord:", "ase:", "ret:", "ter:", "ial:", "ey):",
           "en):", "rd):", "ble)", "pin:", "otp:", "oot:", "ere:", "past", "udo]", check=is_typed),
    secret("password", PASSWORD_FOR, "ord%", "ssph", "ken%", check=is_typed),
    secret("password", PIPED, "tdin", "chpa", "o -s", "th-t", "rypt", "kini", "se64", "b lo"),
)  # fmt: skip
