r"""The kinds of secrets, each with what it looks like and the four bytes that betray it.

A pattern's length is bounded, and what it may begin with is a word's start, so that the
time is linear in any text. The named group is what is replaced, else the whole match.
Hashes, ids, addresses and tokens of a vocabulary are none: what has no prefix of its
own counts only behind a name (``password=``), and then not where code, a type or a
placeholder stands: ``password=password``, ``api_key: str``, ``token=<pad>``.
"""

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["LONGEST", "PEM_BEGIN", "PEM_KIND", "SECRETS", "Secret"]

# No match is longer: what overlaps at the cuts of a line without end.
LONGEST: Final = 1 << 15
PEM_KIND: Final = "private_key"
WORD_START: Final = rb"(?<![A-Za-z0-9])"
WORD_END: Final = rb"(?![A-Za-z0-9])"
# Between a name and its value: `=`, `: `, `": "`, `' => '`, `\": \"`.
SIGN: Final = rb"[\"'\\]{0,3}+[ \t]{0,4}+(?>=>|:=|[=:])[ \t]{0,4}+"
# What stands for a secret, and is none.
NOT_A_VALUE: Final = (
    rb"(?!\[redacted|(?i:none|null|nil|true|false|undefined|n/a|required|missing|unset|empty|"
    rb"invalid|redacted|hidden|x{3,})(?![A-Za-z0-9])|\*{2,}|<[^<>\n]{0,40}>|\$\{|\$\(|"
    rb"\$[A-Z_]{3,}|%[(s]|\{|\.\.\.)"
)
SECRET_NAME: Final = (
    rb"(?:passw(?:or)?d|passphrase|[a-z0-9]_pass|[a-z0-9]_pwd|secrets?(?:[_-]?(?:access[_-]?)?key)?|"
    rb"(?:api|access|private|account|encryption|signing)[_ -]?key|credentials?)"
)
UPPER_NAME: Final = (
    rb"(?:PASSW(?:OR)?D|PASSPHRASE|[A-Z0-9]_PASS|[A-Z0-9]_PWD|SECRETS?(?:_?(?:ACCESS_?)?KEY)?|"
    rb"(?:API|ACCESS|PRIVATE|ACCOUNT|ENCRYPTION|SIGNING)_?KEY|CREDENTIALS?)"
)
DIGIT_WITHIN: Final = rb"(?=[^\s\"'\\,;&]{0,255}[0-9])"
LETTER_WITHIN: Final = rb"(?=[^\s\"'\\,;&]{0,255}[A-Za-z])"
BARE: Final = rb"[^\s\"'\\,;&)}\]]"


@dataclass(frozen=True, slots=True)
class Secret:
    """One look of one kind; ``gates`` as in :mod:`triage.parsers.redact.gate`.

    Without gates it is looked for where an ``@`` is.
    """

    kind: str
    pattern: re.Pattern[bytes]
    gates: tuple[str, ...]


def secret(kind: str, pattern: bytes, *gates: str) -> Secret:
    return Secret(kind, re.compile(pattern), gates)


# -----BEGIN RSA PRIVATE KEY-----, also with its body and its end on one line, as JSON has it.
PEM_BEGIN: Final = re.compile(
    rb"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    rb"(?:[^-\n]|-(?!----)){0,16384}(?P<end>-----END [A-Z0-9 ]{0,80}-----)?"
)
ASSIGNED_GATES: Final = (
    "sswo", "sswd", "ssph", "_pas", "_pwd", "secr", "cred", "pi_k", "pi-k", "pike", "pi k",
    "ss_k", "ss-k", "sske", "ss k", "te_k", "te-k", "teke", "nt_k", "ntke", "on_k", "onke",
    "ng_k", "ngke",
)  # fmt: skip
TOKEN_GATES: Final = ("ken%",)

SECRETS: Final = (
    Secret(PEM_KIND, PEM_BEGIN, ("priv",)),
    # AKIAIOSFODNN7EXAMPLE, and the secret half in the columns beside it.
    secret("aws_key", WORD_START + rb"A(?:KI|SI|BI|CC)A[A-Z0-9]{16}" + WORD_END,
           "akia", "asia", "abia", "acca"),
    secret("aws_secret", rb"A(?:KI|SI)A[A-Z0-9]{16}[^A-Za-z0-9/+\n]{1,16}"
           rb"(?P<s>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])", "akia", "asia"),
    secret("aws_secret", rb"(?i:secret[_ .-]?(?:access)?[_ .-]?key)[^A-Za-z0-9/+\n]{1,16}"
           rb"(?P<s>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])", "secr"),
    secret("aws_signature", rb"X-Amz-(?:Signature|Security-Token)="
           rb"(?P<s>[A-Za-z0-9%+/=_-]{16,4096})", "-amz"),
    secret("hf_token", WORD_START + rb"hf_[A-Za-z0-9]{20,128}", "^hf_"),
    secret("github_token", WORD_START + rb"gh[opusr]_[A-Za-z0-9]{20,255}",
           "gho_", "ghp_", "ghu_", "ghs_", "ghr_"),
    secret("github_token", rb"github_pat_[A-Za-z0-9_]{20,255}", "_pat"),
    secret("gitlab_token", rb"glpat-[A-Za-z0-9_.-]{16,255}", "lpat"),
    secret("slack_token", WORD_START + rb"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,255}", "^xox", "xapp"),
    secret("slack_webhook", rb"hooks\.slack\.com/(?:services|workflows|triggers)/"
           rb"(?P<s>[A-Za-z0-9_/-]{10,255})", "slac"),
    # 40 hex digits are a commit too: only behind what asks for, or names, a key.
    secret("wandb_key", rb"(?i:wandb[ \t]+login(?:[ \t]{1,4}--[^\s]{1,80}){0,4}[ \t]{1,4}|"
           rb"wandb\.login\([^)\n]{0,80}?[\"']|api[ _-]?key[^0-9a-z\n]{0,24}|"
           rb"wandb\.ai/authorize[^\s]{0,80}[^0-9a-f\n]{1,80}?|password[ \t]{1,4})"
           rb"(?P<s>[0-9a-f]{40})(?![0-9A-Za-z])", "^wan", "pi_k", "pi k", "pi-k", "pike", "sswo"),
    secret("wandb_key", rb"wandb_v1_[A-Za-z0-9_]{20,128}", "^wan"),
    secret("api_key", WORD_START + rb"sk-(?=[A-Za-z_-]{0,250}[0-9])[A-Za-z0-9_-]{20,255}", "^sk-"),
    secret("api_key", WORD_START + rb"[rs]k_live_[A-Za-z0-9]{16,255}", "_liv"),
    secret("google_key", WORD_START + rb"AIza[A-Za-z0-9_-]{30,64}", "aiza"),
    secret("google_key", WORD_START + rb"ya29\.[A-Za-z0-9_.-]{20,2048}", "ya29"),
    secret("azure_key", rb"(?i:AccountKey|SharedAccessKey)=(?P<s>[A-Za-z0-9+/]{16,256}={0,2})",
           "tkey", "skey"),
    secret("azure_key", rb"[?&;]sig=(?P<s>[A-Za-z0-9%+/=_-]{20,255})", "sig="),
    secret("jwt", rb"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,8192}(?:\.[A-Za-z0-9_-]{4,8192}){1,2}"
           rb"(?:\.[A-Za-z0-9_-]{0,2048}){0,2}", "^eyj"),
    secret("npm_token", WORD_START + rb"npm_[A-Za-z0-9]{30,64}", "^npm"),
    secret("pypi_token", WORD_START + rb"pypi-[A-Za-z0-9_-]{32,512}", "pypi"),
    secret("triage_token", WORD_START + rb"triage_[A-Za-z0-9]{4,64}_[A-Za-z0-9_-]{16,255}", "tria"),
    secret("webhook_secret", rb"whsec_[A-Za-z0-9+/=]{16,255}", "whse"),
    # https://user:password@node/, redis://:password@node, https://token@node/
    secret("url_password", rb"://[^\s/@:\"'<>\\\[]{0,256}:(?!\[redacted)(?P<s>[^\s/\"'<>\\]{1,256})(?=@[A-Za-z0-9\[.-])"),
    secret("url_password", rb"://(?P<s>[A-Za-z0-9_-]{20,256})(?=@[A-Za-z0-9\[.-])"),
    secret("docker_auth", rb"\"auth\\?\"[ \t]{0,4}:[ \t]{0,4}\\?\"(?P<s>[A-Za-z0-9+/=_-]{8,4096})",
           "auth"),
    secret("docker_auth", rb"(?<![A-Za-z0-9])_auth(?:Token)?[ \t]{0,4}=[ \t]{0,4}\"?"
           rb"(?P<s>[A-Za-z0-9+/=_-]{8,4096})", "auth"),
    secret("authorization", rb"(?i:authorization)" + SIGN + rb"[\"'\\]{0,3}+" + NOT_A_VALUE
           + rb"(?i:bearer|basic|token|digest|negotiate|apikey)[ \t]{1,4}"
           + NOT_A_VALUE + rb"(?P<s>[^\s\"'\\,;]{4,4096})", "auth"),
    secret("authorization", rb"(?i:authorization)" + SIGN + rb"[\"'\\]{0,3}+" + NOT_A_VALUE
           + DIGIT_WITHIN + rb"(?P<s>[^\s\"'\\,;]{12,4096})", "auth"),
    secret("authorization", WORD_START + rb"(?i:bearer)[ \t]{1,4}" + NOT_A_VALUE + DIGIT_WITHIN
           + LETTER_WITHIN + rb"(?P<s>[A-Za-z0-9._~+/=-]{16,4096})", "bear"),
    # PGPASSWORD=hunter: what an environment holds is a value, whatever it looks like.
    secret("password", UPPER_NAME + SIGN + NOT_A_VALUE + rb"(?P<s>" + BARE + rb"{3,1024})",
           *ASSIGNED_GATES),
    # 'db_password': 'hunter', "apiKey": "..."
    secret("password", rb"(?i:" + SECRET_NAME + rb")" + SIGN + rb"(?:\\?\"" + NOT_A_VALUE
           + rb"(?P<s>[^\"\\\n]{1,1024})|\\?'" + NOT_A_VALUE + rb"(?P<q>[^'\\\n]{1,1024}))",
           *ASSIGNED_GATES),
    # password: hunter2, but not the `password=password` of a traceback.
    secret("password", rb"(?i:" + SECRET_NAME + rb")" + SIGN + NOT_A_VALUE
           + rb"(?![A-Za-z_.]{1,255}(?:[^!-~]|[(),;\[\]\"']|$))(?=[^\s]{0,255}[0-9!@#$%^&*+/=~-])"
           + rb"(?P<s>" + BARE + rb"{4,1024})", *ASSIGNED_GATES),
    secret("token", rb"TOKEN[\"'\\]{0,3}[ \t]{0,4}=[ \t]{0,4}+[\"']?+" + NOT_A_VALUE
           + rb"(?![0-9]{1,20}(?![^\s\"'])|\[)(?P<s>" + BARE + rb"{3,4096})", *TOKEN_GATES),
    secret("token", rb"TOKEN[\"'\\]{1,3}[ \t]{0,4}:[ \t]{0,4}\\?[\"']" + NOT_A_VALUE
           + rb"(?![0-9]{1,20}[\"']|\[)(?P<s>[^\s\"'\\]{3,4096})", *TOKEN_GATES),
    secret("token", rb"(?i:token)" + SIGN + rb"[\"'\\]{0,3}+" + NOT_A_VALUE + DIGIT_WITHIN
           + LETTER_WITHIN + rb"(?!0x)(?P<s>[A-Za-z0-9_.+/=~-]{8,4096})", *TOKEN_GATES),
    # --hf-token abc123, --password abc123
    secret("token", rb"--[A-Za-z0-9_-]{0,40}(?i:password|passwd|token|api[_-]?key|secret)"
           rb"(?:[ \t]{1,4}+|=)[\"']?+" + NOT_A_VALUE + DIGIT_WITHIN + LETTER_WITHIN
           + rb"(?P<s>[^\s\"'<-][^\s\"']{5,1024})", "sswo", "sswd", "secr", "pi_k", "pi-k", "pike",
           *TOKEN_GATES),
)  # fmt: skip
