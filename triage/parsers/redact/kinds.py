r"""The kinds of secrets, each with what it looks like and the four bytes that betray it.

A pattern's length is bounded, and what it may begin with is a word's start, so that the
time is linear in any text. Hashes, ids, addresses and tokens of a vocabulary are none: what
has no prefix of its own counts only behind a name (``password=``), and then not where code, a
type or a placeholder stands: ``password=password``, ``api_key: str``, ``token=<pad>``.
"""

import re
from typing import Final

from triage.domain.patterns import compile_re
from triage.parsers.redact.named import BARE, NAMED, NOT_A_VALUE, SIGN, is_plain_word
from triage.parsers.redact.prefixes import PREFIXED
from triage.parsers.redact.secret import (
    WORD_END,
    WORD_START,
    Secret,
    any_word,
    is_random,
    make_secret,
)

# No match is longer: what overlaps at the cuts of a line without end.
LONGEST: Final = 1 << 15
PEM_KIND: Final = "private_key"
# -----BEGIN RSA PRIVATE KEY-----, also with its body and its end on one line, as JSON has it;
# PuTTY's keys begin their private half with "Private-Lines: 14".
PEM_BEGIN: Final = compile_re(
    rb"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    rb"(?:[^-\n]|-(?!----)){0,16384}(?P<end>-----END [A-Z0-9 ]{0,80}-----)?"
    rb"|Private-Lines: [0-9]{1,4}"
)
_KNOWN: Final = (
    Secret(PEM_KIND, PEM_BEGIN, ("priv",)),
    make_secret(PEM_KIND, rb"Private-(?:MAC|Hash): (?P<s>[0-9a-f]{40,64})", "-mac", "-has"),
    make_secret(PEM_KIND, rb"(?P<s>LS0tLS1CRUdJTi[A-Za-z0-9+/=]{40,16384})", "ls0t"),
    # AKIAIOSFODNN7EXAMPLE, and the secret half in the columns beside it.
    make_secret(
        "aws_key",
        WORD_START + rb"A(?:KI|SI|BI|CC)A[A-Z0-9]{16}" + WORD_END,
        "akia",
        "asia",
        "abia",
        "acca",
    ),
    make_secret(
        "aws_secret",
        rb"A(?:KI|SI)A[A-Z0-9]{16}[^A-Za-z0-9+\n]{1,16}"
        rb"(?P<s>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        "akia",
        "asia",
    ),
    make_secret(
        "aws_secret",
        rb"(?i:secret[_ .-]?(?:access)?[_ .-]?key)[^A-Za-z0-9/+\n]{1,16}"
        rb"(?P<s>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        "secr",
    ),
    make_secret(
        "wandb_key",
        any_word(
            rb"wandb[ \t]+login(?:[ \t]{1,4}--[^\s]{1,80}){0,4}[ \t]{1,4}",
            rb"wandb\.login\([^)\n]{0,80}?[\"']",
            rb"api[ _-]?key[^0-9a-z\n]{0,24}",
            rb"wandb\.ai/authorize[^\s]{0,80}[^0-9a-f\n]{1,80}?",
            rb"hit enter[^\s]{0,80}[^0-9a-f\n]{1,80}?",
            rb"password[ \t]{1,4}",
        )
        + rb"(?P<s>[0-9a-f]{40})(?![0-9A-Za-z])",
        "^wan",
        "pi_k",
        "pi k",
        "pi-k",
        "pike",
        "sswo",
        "ente",
    ),
    make_secret(
        "aws_signature",
        rb"X-Amz-(?:Signature|Security-Token)="
        rb"(?P<s>[A-Za-z0-9%+/=_-]{16,4096})",
        "-amz",
    ),
    make_secret(
        "slack_token",
        WORD_START + rb"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,255}",
        "^xox",
        "xapp",
        "nxox",
        "dxox",
    ),
    make_secret(
        "slack_webhook",
        rb"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/"
        rb"(?P<s>[A-Za-z0-9_/-]{10,255})",
        "slac",
    ),
    make_secret(
        "api_key",
        WORD_START + rb"sk-(?=[A-Za-z_-]{0,250}[0-9])[A-Za-z0-9_-]{20,255}",
        "^sk-",
        "nsk-",
        "dsk-",
        "2sk-",
    ),
    make_secret(
        "azure_key",
        rb"(?i:AccountKey|SharedAccessKey)=(?P<s>[A-Za-z0-9+/]{16,256}={0,2})",
        "tkey",
        "skey",
    ),
    make_secret(
        "jwt",
        rb"(?<![A-Za-z0-9_-])(?:Bearer)?eyJ[A-Za-z0-9_-]{8,8192}"
        rb"(?:\.[A-Za-z0-9_-]{4,8192}){1,2}(?:\.[A-Za-z0-9_-]{0,2048}){0,2}",
        "^eyj",
        "deyj",
    ),
    make_secret(
        "triage_token", WORD_START + rb"triage_[A-Za-z0-9]{4,64}_[A-Za-z0-9_-]{16,255}", "tria"
    ),
    make_secret("webhook_secret", rb"whsec_[A-Za-z0-9+/=]{16,255}", "whse"),
)


# Options between a program and the one that counts.
_OPTIONS: Final = rb"(?:[ \t]+[^\s|;&]{1,256}){0,24}?"
_QUOTE: Final = rb"[\"']?"
_WORD: Final = rb"[^\s\"'|;&<>]"
# The search jumps to the dash that begins a pattern, and then looks at what stands before it.
_FLAG: Final = rb"-(?<![A-Za-z0-9_-]-)-?[A-Za-z0-9_.-]{0,40}(?P<name>(?i:%s))" + (
    rb"[\"']?(?:[ \t]{1,4}|=|[\"'],[ \t]?)\\?[\"']?" + NOT_A_VALUE
    + rb"(?P<s>(?!-)[^\s\"'\\]{3,1024})"
)  # fmt: skip
_PASSWORD_FLAGS: Final = rb"password|passwd|passphrase|pass|pwd"
_TOKEN_FLAGS: Final = (
    rb"token|api[_-]?key|access[_-]?key|secret[_-]?key|key-secret|account-key|secret|auth|"
    rb"credentials?"
)
_ASKS: Final = any_word(
    rb"paste", rb"enter", rb"type", rb"retype", rb"re-enter", rb"input", rb"provide", rb"new",
    rb"old", rb"current", rb"sudo\]?", rb"ssh", rb"vault", rb"bmc", rb"root", rb"admin",
    after=rb"(?<![A-Za-z]{2})",
) + (
    rb"(?i:(?![A-Za-z])[^\n]{0,120}?(?:api[ _-]?key|token|passw(?:or)?d|"
    rb"passphrase|pass phrase|secret|credential|access key|otp|pin)(?![A-Za-z])[^:\n]{0,120}"
    rb"(?::/?/?[^:\s]{1,80}){0,2}['\"]?):[ \t]{0,4}(?P<s>[^\s\"']{4,1024})(?=[ \t]*(?:$|[\r\n\"']))"
)  # fmt: skip
_PASSWORD_FOR: Final = any_word(rb"password", rb"passphrase", rb"token", rb"username") + (
    rb"(?i: for ['\"]?[^\s'\"]{1,200}['\"]?(?:[ \t]+at[ \t]+\S{1,80})?):[ \t]{1,4}"
    rb"(?P<s>[^\s\"']{4,1024})"
)
_TOOLS: Final = rb"(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump|mycli)"
# Programs, and the option by which each takes a password as the next word.
_NEXT_WORD: Final = (
    rb"sshpass[ \t]+-p|redis-cli" + _OPTIONS + rb"[ \t]+(?:-a|--pass)|mongo(?:sh|dump|restore)?"
    + _OPTIONS + rb"[ \t]+-p|ipmitool" + _OPTIONS + rb"[ \t]+-P|i?dracadm" + _OPTIONS
    + rb"[ \t]+-p|racadm" + _OPTIONS + rb"[ \t]+-p|redfishtool" + _OPTIONS
    + rb"[ \t]+-p|ldap(?:search|add|modify|whoami|delete)" + _OPTIONS
    + rb"[ \t]+-w|(?:docker|podman|nerdctl|helm|oras|skopeo|buildah)[ \t]+(?:registry[ \t]+)?login"
    + _OPTIONS + rb"[ \t]+-p|mosquitto_(?:pub|sub)" + _OPTIONS + rb"[ \t]+-P|sqlcmd" + _OPTIONS
    + rb"[ \t]+-P|cqlsh" + _OPTIONS + rb"[ \t]+-p|htpasswd[ \t]+-[a-zA-Z]*b[a-zA-Z]*[ \t]+\S{1,200}[ \t]+"  # noqa: E501
    + rb"\S{1,64}|(?:zip|unzip)" + _OPTIONS + rb"[ \t]+-P|rabbitmqctl[ \t]+(?:add_user|change_password|"  # noqa: E501
    + rb"authenticate_user)[ \t]+\S{1,64}|vault[ \t]+login(?:[ \t]+-[^\s]{1,80}){0,4}|az[ \t]+login"
    + _OPTIONS + rb"[ \t]+-p|snmp[a-z]{2,12}" + _OPTIONS + rb"[ \t]+-[cAX]|psql" + _OPTIONS
    + rb"[ \t]+-W|influx" + _OPTIONS + rb"[ \t]+(?:-t|-p)|requirepass|masterauth|ngc" + _OPTIONS
    + rb"[ \t]+--api-key|aws[ \t]+configure[ \t]+set[ \t]+(?:[\w.-]+\.)?aws_(?:secret_access_key|session_token)|"  # noqa: E501
    + rb"(?:huggingface-cli|hf|wandb|gh|glab|kaggle|ngrok|comet|neptune|clearml)[ \t]+(?:auth[ \t]+)?"  # noqa: E501
    + rb"(?:login|authtoken|config[ \t]+add-authtoken)(?:[ \t]+--?[a-z-]{1,24}){0,3}"
)  # fmt: skip
_USER_AND_PASSWORD: Final = (
    rb"(?:curl|wget|http|https|xh|etcdctl|influx|consul|nats|elasticdump|aria2c|lftp)" + _OPTIONS
    + rb"[ \t]+(?:-u|-a|--user|--proxy-user|-U|--auth|--userpwd)(?:[ \t]+|=)?" + _QUOTE
    + rb"[^\s:\"'$-][^\s:\"']{0,255}:(?!\$|//)(?P<s>[^\s\"']{1,512})"
)  # fmt: skip
_PIPED: Final = (
    rb"(?:echo|printf)[ \t]+(?:-[en]{1,2}[ \t]+)?[\"']?(?:%s\\?n?[\"']?[ \t]+[\"']?)?(?:[A-Za-z0-9_.-]{1,64}:)?"  # noqa: E501
    rb"(?P<s>[^\s\"'$|][^\s\"'|]{2,1024})[\"']?[ \t]*\|[ \t]*[^|\n]{0,120}?"
    rb"(?:--password-stdin|--stdin|chpasswd|sudo[ \t]+-S|--with-token|wandb[ \t]+login|cryptsetup|"
    rb"base64[ \t]+(?:-d|--decode)[ \t]*>[ \t]*\S{0,200}(?:key|pem|rsa|secret)|kinit|--token-stdin)"
)


def _is_option(found: re.Match[bytes]) -> bool:
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


def _is_typed(found: re.Match[bytes]) -> bool:
    word = found["s"].rstrip(b".,!")
    if is_plain_word(word) or word.startswith((b"(", b"[", b"<", b"$", b"http")):
        return False
    return not re.fullmatch(rb"[A-Za-z]{1,3}|[*.]+", word)


def _is_next_word(found: re.Match[bytes]) -> bool:
    word = found["s"]
    return not is_plain_word(word) and not word.startswith((b"$", b"-", b"<", b"%"))


_COMMANDS: Final = (
    make_secret("password", _FLAG.replace(b"%s", _PASSWORD_FLAGS), "ord%", "swd%", "ssph",
           "ass=", "ass ", 'ass"', "pwd%", check=_is_option),
    make_secret("token", _FLAG.replace(b"%s", _TOKEN_FLAGS), "ken%", "key%", "ret%", "uth=", "uth ",
           "ial%", "als%", check=_is_option),
    make_secret("password", rb"(?<![A-Za-z0-9_])" + _USER_AND_PASSWORD, "curl", "wget", "ttp ", "tps ", "~xh ",  # noqa: E501
           "tcdc", "infl", "nsul", "nats", "ia2c", "lftp"),
    make_secret("password", rb"(?<![A-Za-z0-9_])" + _TOOLS + _OPTIONS + rb"[ \t]+-p" + _QUOTE
           + rb"(?P<s>[^\s\"'|;&<>-]" + _WORD + rb"{0,255})", "mysq", "iadb", "mycl"),
    make_secret("password", rb"(?<![A-Za-z0-9_])(?:" + _NEXT_WORD + rb")(?:[ \t]+|=)" + _QUOTE
           + rb"(?P<s>[^\s\"'|;&<>]{3,512})", "sshp", "edis", "mong", "ipmi", "adm%", "shto",
           "ldap", "ogin", "mosq", "sqlc", "cqls", "htpa", "zip%", "rabb", "vaul", "snmp", "psql",
           "infl", "irep", "erau", "~ngc", "figu", "htok", check=_is_next_word),
    make_secret("password", rb"(?<![A-Za-z0-9_])(?:smbclient|net|rpcclient|mount\.cifs)" + _OPTIONS
           + rb"[ \t]+-U[ \t]?" + _QUOTE + rb"[^\s%\"']{1,64}%(?P<s>[^\s\"']{1,256})", "smbc", "rpcc"),  # noqa: E501
    make_secret("password", rb"(?<![A-Za-z0-9_])7z[az]?" + _OPTIONS + rb"[ \t]+-p(?P<s>" + _WORD
           + rb"{1,255})", "~7z ", "~7za"),
    make_secret("password", rb"[-,](?i:(?<=-)pass(?:in|out)?[ \t]+pass:|"
           rb"(?<=,)(?:username=[^,\s]{0,64},)?password=)"
           rb"(?P<s>[^\s,\"']{1,256})", "ass:", "ord="),
    make_secret("password", WORD_START + rb"login[ \t]+[^\s]{1,200}[ \t]+password[ \t]+(?P<s>[^\s]{1,512})",  # noqa: E501
           "ogin"),
    make_secret("password", rb"(?i:identified[ \t]+(?:with[ \t]+\S{1,40}[ \t]+)?by[ \t]+|"
           rb"with[ \t]+(?:encrypted[ \t]+)?password[ \t]+)['\"](?P<s>[^'\"\n]{1,256})", "tifi",
           "ssw%", "ord "),
    make_secret("password", _ASKS, "key:", "ken:", "ord:", "ase:", "ret:", "ter:", "ial:", "ey):",
           "en):", "rd):", "ble)", "pin:", "otp:", "oot:", "ere:", "past", "udo]", check=_is_typed),
    make_secret("password", _PASSWORD_FOR, "ord%", "ssph", "ken%", check=_is_typed),
    make_secret("password", _PIPED, "tdin", "chpa", "o -s", "th-t", "rypt", "kini", "se64", "b lo"),
)  # fmt: skip


_DIGIT_WITHIN: Final = rb"(?=[^\s\"'\\,;&]{0,255}[0-9])"
_LETTER_WITHIN: Final = rb"(?=[^\s\"'\\,;&]{0,255}[A-Za-z])"
_OPEN: Final = rb"[\"'\\]{0,3}+"
# Of a header, to its end: the quote around it, or the line's.
_REST: Final = rb"[^\"'\\\n\r]"
_SCHEME: Final = (
    rb"(?i:bearer|basic|token|digest|negotiate|apikey|api-key|key|hmac|ntlm|sharedkey(?:lite)?|"
    rb"splunk|snowflake|oauth|aws4-hmac-sha256|aws|dpop|jwt|goog4-rsa-sha256)"
)
_HEADER_NAME: Final = (
    rb"(?i:(?:x|dd|ocp-apim|cf|private|job|deploy|api|auth|access|app|application|circle|sec|"
    rb"x-[a-z0-9]{1,20})(?:-[a-z0-9]{1,20}){0,4}-(?:key|token|secret|signature|auth|password|"
    rb"credential|session|jwt|assertion))"
)
_USER: Final = rb"[^\s/@:\"'<>\\\[?#,;]{0,256}"
_AFTER_USER: Final = rb"(?=@[A-Za-z0-9\[._-])"
_SIGNED: Final = (
    rb"(?i:[&?;,\s\"'](?:[a-z]{1,6}-)?(?:[a-z]{1,4}-)?(?:signature|security-token|sign|hmac))"
    rb"[\"']?(?:=|:[ \t]?|%3[AaDd])[\"']?(?P<s>[A-Za-z0-9%+/=_-]{16,4096})"
)
# The search jumps to the sign that begins a pattern.
_QUERY: Final = (
    rb"[?&;%](?i:(?<=[?&;])(?:[a-z0-9]{1,12}[_-]){0,3}(?:key|token|secret|password|passwd|pass|"
    rb"pwd|auth|sid|session|jwt|code|assertion|ticket)|(?<=%)(?:3f|26)token)="
    rb"(?P<s>[^\s&\"'<>#\\;,)]{4,4096})"
)


def _is_signature(found: re.Match[bytes]) -> bool:
    return is_random(found["s"])


def _is_query(found: re.Match[bytes]) -> bool:
    name = found[0][: found.start("s") - found.start()].lower()
    if b"pass" in name or b"pwd" in name or b"secret" in name:
        return True
    return len(found["s"]) >= 12 and is_random(found["s"])


def _is_password_of_url(found: re.Match[bytes]) -> bool:
    """A port and a path are no password: `http://host:8080/a@b`, `docker://registry:5000/x@sha256:`."""
    return not re.match(rb"[0-9]{1,5}(?:/|$)", found["s"])


def _is_header(found: re.Match[bytes]) -> bool:
    value = found["s"]
    return len(value) >= 16 or bool(re.search(rb"[0-9]", value)) or b":" not in found["sign"]


_REQUESTS: Final = (
    make_secret(
        "authorization",
        rb"(?i:authorization)"
        + SIGN
        + _OPEN
        + NOT_A_VALUE
        + _SCHEME
        + rb"[ \t]{1,4}"
        + NOT_A_VALUE
        + rb"(?P<s>[^\s\"'\\,;]{4,4096}(?:,?[ \t]{0,2}[A-Za-z_-]{1,30}=(?:\\?\"[^\"\\\n]{0,4096}\\?\"|"  # noqa: E501
        + rb"[^\s\"'\\]{1,4096})){0,20})",
        "auth",
    ),
    make_secret(
        "authorization",
        rb"(?i:authorization)"
        + SIGN
        + _OPEN
        + NOT_A_VALUE
        + _DIGIT_WITHIN
        + rb"(?P<s>[^\s\"'\\,;]{8,4096})",
        "auth",
    ),
    make_secret(
        "authorization",
        WORD_START
        + rb"(?i:bearer)(?:[ \t]{1,4}|%20)"
        + NOT_A_VALUE
        + _DIGIT_WITHIN
        + _LETTER_WITHIN
        + rb"(?P<s>[A-Za-z0-9._~+/=-]{16,4096})",
        "bear",
    ),
    make_secret(
        "cookie",
        rb"(?i:(?<![A-Za-z0-9_])(?:set-)?cookie2?)[\"']{0,2}[ \t]{0,2}[:=][ \t]{0,4}"
        + _OPEN
        + NOT_A_VALUE
        + rb"(?P<s>[A-Za-z0-9_.!#$%&*^`|~+-]{1,128}="
        + _REST
        + rb"{1,8192})",
        "ooki",
    ),
    make_secret(
        "header",
        WORD_START + _HEADER_NAME + SIGN + _OPEN + NOT_A_VALUE + rb"(?P<s>" + BARE + rb"{6,4096})",
        "-key",
        "-tok",
        "-sec",
        "-aut",
        "-sig",
        "-pas",
        "-cre",
        "-ses",
        "-jwt",
        "-ass",
        check=_is_header,
    ),
    make_secret("signature", _SIGNED, "natu", "y-to", "hmac", "ign=", check=_is_signature),
    make_secret("azure_key", rb"[?&;]sig=(?P<s>[A-Za-z0-9%+/=_-]{16,255})", "sig="),
    make_secret(
        "query_secret",
        _QUERY,
        "key=",
        "ken=",
        "ret=",
        "ord=",
        "swd=",
        "ass=",
        "pwd=",
        "uth=",
        "sid=",
        "?ses",
        "&ses",
        "jwt=",
        "?cod",
        "&cod",
        "ket=",
        check=_is_query,
    ),
    # https://user:password@node/, redis://:password@node, https://token@node/
    make_secret(
        "url_password",
        rb"://" + _USER + rb":(?!\[redacted)(?P<s>[^\s\"'<>\\]{1,256})" + _AFTER_USER,
        check=_is_password_of_url,
    ),
    make_secret(
        "url_password", rb"(?:://|%3[aA]%2[fF]%2[fF])(?P<s>[A-Za-z0-9_-]{20,256})" + _AFTER_USER
    ),
    make_secret(
        "url_password",
        rb"%3[aA]%2[fF]%2[fF][^\s%]{0,64}%3[aA](?P<s>[^\s@]{1,256}?)(?:%40)",
        "%3a%",
        "%40?",
    ),
    # user:password@tcp(node:3306)/db, scott/tiger@//node, user%password as smbclient takes it.
    make_secret(
        "url_password",
        rb"(?<![A-Za-z0-9_./-])[A-Za-z0-9_.-]{1,64}:(?P<s>[^\s\"'/]{1,256})"
        rb"@(?:tcp|udp|unix)\(",
    ),
    make_secret(
        "url_password",
        rb"(?:sqlplus[ \t]+(?:-[A-Za-z]+[ \t]+){0,3}|:thin:|oci8?:)[A-Za-z0-9_]"
        rb"{1,64}/(?P<s>[^\s\"'@]{1,128})@",
    ),
    make_secret(
        "url_password",
        rb"(?i:proxy)[\"']?[ \t]{0,2}[=:][ \t]{0,2}[\"']?(?!https?:)"
        rb"[A-Za-z0-9_.-]{1,64}:(?P<s>[^\s\"'/@]{1,256})" + _AFTER_USER,
    ),
    # node:5432:database:user:password, as .pgpass has it.
    make_secret(
        "password",
        rb"(?<![A-Za-z0-9.])[A-Za-z0-9.*-]{1,255}:(?:54|64)3[0-9]:[^\s:]{1,64}:"
        rb"[^\s:]{1,64}:(?P<s>[^\s]{1,256})",
        ":543",
        ":643",
    ),
    make_secret(
        "docker_auth",
        rb"\"auth\\?\"[ \t]{0,4}:[ \t]{0,4}\\?\"(?P<s>[A-Za-z0-9+/=_-]{8,4096})",
        "auth",
    ),
    make_secret(
        "docker_auth",
        rb"(?<![A-Za-z0-9])_auth(?:Token)?[ \t]{0,4}=[ \t]{0,4}\"?"
        rb"(?P<s>[A-Za-z0-9+/=_-]{8,4096})",
        "auth",
    ),
    make_secret(
        "password",
        rb"[;{](?i:[ \t]?(?:pwd|uid_pwd|password)[ \t]?=[ \t]?)(?:\{(?P<s>[^}\n]{1,256})\}"
        rb"|(?P<q>[^;\"'\n]{1,256})(?=;|\"|'|$))",
        "pwd=",
        "ord=",
        "pwd ",
        "ord ",
    ),
)


SECRETS: Final = (*_KNOWN, *PREFIXED, *_REQUESTS, *_COMMANDS, *NAMED)
