"""Secrets of requests: headers, cookies, signatures, and passwords within addresses."""

import re
from typing import Final

from triage.parsers.redact.named import BARE, NOT_A_VALUE, SIGN
from triage.parsers.redact.secret import WORD_START, is_random, secret

__all__ = ["REQUESTS"]

DIGIT_WITHIN: Final = rb"(?=[^\s\"'\\,;&]{0,255}[0-9])"
LETTER_WITHIN: Final = rb"(?=[^\s\"'\\,;&]{0,255}[A-Za-z])"
OPEN: Final = rb"[\"'\\]{0,3}+"
# Of a header, to its end: the quote around it, or the line's.
REST: Final = rb"[^\"'\\\n\r]"
SCHEME: Final = (
    rb"(?i:bearer|basic|token|digest|negotiate|apikey|api-key|key|hmac|ntlm|sharedkey(?:lite)?|"
    rb"splunk|snowflake|oauth|aws4-hmac-sha256|aws|dpop|jwt|goog4-rsa-sha256)"
)
HEADER_NAME: Final = (
    rb"(?i:(?:x|dd|ocp-apim|cf|private|job|deploy|api|auth|access|app|application|circle|sec|"
    rb"x-[a-z0-9]{1,20})(?:-[a-z0-9]{1,20}){0,4}-(?:key|token|secret|signature|auth|password|"
    rb"credential|session|jwt|assertion))"
)
USER: Final = rb"[^\s/@:\"'<>\\\[?#,;]{0,256}"
AFTER_USER: Final = rb"(?=@[A-Za-z0-9\[._-])"
SIGNED: Final = (
    rb"(?i:[&?;,\s\"'](?:[a-z]{1,6}-)?(?:[a-z]{1,4}-)?(?:signature|security-token|sign|hmac))"
    rb"[\"']?(?:=|:[ \t]?|%3[AaDd])[\"']?(?P<s>[A-Za-z0-9%+/=_-]{16,4096})"
)
# The search jumps to the sign that begins a pattern.
QUERY: Final = (
    rb"[?&;%](?i:(?<=[?&;])(?:[a-z0-9]{1,12}[_-]){0,3}(?:key|token|secret|password|passwd|pass|"
    rb"pwd|auth|sid|session|jwt|code|assertion|ticket)|(?<=%)(?:3f|26)token)="
    rb"(?P<s>[^\s&\"'<>#\\;,)]{4,4096})"
)


def is_signature(found: re.Match[bytes]) -> bool:
    return is_random(found["s"])


def is_query(found: re.Match[bytes]) -> bool:
    name = found[0][: found.start("s") - found.start()].lower()
    if b"pass" in name or b"pwd" in name or b"secret" in name:
        return True
    return len(found["s"]) >= 12 and is_random(found["s"])


def is_password_of_url(found: re.Match[bytes]) -> bool:
    """A port and a path are no password: `http://host:8080/a@b`, `docker://registry:5000/x@sha256:`."""
    return not re.match(rb"[0-9]{1,5}(?:/|$)", found["s"])


def is_header(found: re.Match[bytes]) -> bool:
    value = found["s"]
    return len(value) >= 16 or bool(re.search(rb"[0-9]", value)) or b":" not in found["sign"]


REQUESTS: Final = (
    secret("authorization", rb"(?i:authorization)" + SIGN + OPEN + NOT_A_VALUE + SCHEME
           + rb"[ \t]{1,4}" + NOT_A_VALUE
           + rb"(?P<s>[^\s\"'\\,;]{4,4096}(?:,?[ \t]{0,2}[A-Za-z_-]{1,30}=(?:\\?\"[^\"\\\n]{0,4096}\\?\"|"  # noqa: E501
           + rb"[^\s\"'\\]{1,4096})){0,20})", "auth"),
    secret("authorization", rb"(?i:authorization)" + SIGN + OPEN + NOT_A_VALUE
           + DIGIT_WITHIN + rb"(?P<s>[^\s\"'\\,;]{8,4096})", "auth"),
    secret("authorization", WORD_START + rb"(?i:bearer)(?:[ \t]{1,4}|%20)" + NOT_A_VALUE
           + DIGIT_WITHIN + LETTER_WITHIN + rb"(?P<s>[A-Za-z0-9._~+/=-]{16,4096})", "bear"),
    secret("cookie", rb"(?i:(?<![A-Za-z0-9_])(?:set-)?cookie2?)[\"']{0,2}[ \t]{0,2}[:=][ \t]{0,4}"
           + OPEN + NOT_A_VALUE + rb"(?P<s>[A-Za-z0-9_.!#$%&*^`|~+-]{1,128}=" + REST
           + rb"{1,8192})", "ooki"),
    secret("header", WORD_START + HEADER_NAME + SIGN + OPEN + NOT_A_VALUE + rb"(?P<s>" + BARE
           + rb"{6,4096})", "-key", "-tok", "-sec", "-aut", "-sig", "-pas", "-cre", "-ses",
           "-jwt", "-ass", check=is_header),
    secret("signature", SIGNED, "natu", "y-to", "hmac", "ign=", check=is_signature),
    secret("azure_key", rb"[?&;]sig=(?P<s>[A-Za-z0-9%+/=_-]{16,255})", "sig="),
    secret("query_secret", QUERY, "key=", "ken=", "ret=", "ord=", "swd=", "ass=", "pwd=", "uth=",
           "sid=", "?ses", "&ses", "jwt=", "?cod", "&cod", "ket=", check=is_query),
    # https://user:password@node/, redis://:password@node, https://token@node/
    secret("url_password", rb"://" + USER + rb":(?!\[redacted)(?P<s>[^\s\"'<>\\]{1,256})"
           + AFTER_USER, check=is_password_of_url),
    secret("url_password", rb"(?:://|%3[aA]%2[fF]%2[fF])(?P<s>[A-Za-z0-9_-]{20,256})" + AFTER_USER),
    secret("url_password", rb"%3[aA]%2[fF]%2[fF][^\s%]{0,64}%3[aA](?P<s>[^\s@]{1,256}?)(?:%40)",
           "%3a%", "%40?"),
    # user:password@tcp(node:3306)/db, scott/tiger@//node, user%password as smbclient takes it.
    secret("url_password", rb"(?<![A-Za-z0-9_./-])[A-Za-z0-9_.-]{1,64}:(?P<s>[^\s\"'/]{1,256})"
           rb"@(?:tcp|udp|unix)\("),
    secret("url_password", rb"(?:sqlplus[ \t]+(?:-[A-Za-z]+[ \t]+){0,3}|:thin:|oci8?:)[A-Za-z0-9_]"
           rb"{1,64}/(?P<s>[^\s\"'@]{1,128})@"),
    secret("url_password", rb"(?i:proxy)[\"']?[ \t]{0,2}[=:][ \t]{0,2}[\"']?(?!https?:)"
           rb"[A-Za-z0-9_.-]{1,64}:(?P<s>[^\s\"'/@]{1,256})" + AFTER_USER),
    # node:5432:database:user:password, as .pgpass has it.
    secret("password", rb"(?<![A-Za-z0-9.])[A-Za-z0-9.*-]{1,255}:(?:54|64)3[0-9]:[^\s:]{1,64}:"
           rb"[^\s:]{1,64}:(?P<s>[^\s]{1,256})", ":543", ":643"),
    secret("docker_auth", rb"\"auth\\?\"[ \t]{0,4}:[ \t]{0,4}\\?\"(?P<s>[A-Za-z0-9+/=_-]{8,4096})",
           "auth"),
    secret("docker_auth", rb"(?<![A-Za-z0-9])_auth(?:Token)?[ \t]{0,4}=[ \t]{0,4}\"?"
           rb"(?P<s>[A-Za-z0-9+/=_-]{8,4096})", "auth"),
    secret("password", rb"[;{](?i:[ \t]?(?:pwd|uid_pwd|password)[ \t]?=[ \t]?)(?:\{(?P<s>[^}\n]{1,256})\}"  # noqa: E501
           rb"|(?P<q>[^;\"'\n]{1,256})(?=;|\"|'|$))", "pwd=", "ord=", "pwd ", "ord "),
)  # fmt: skip
