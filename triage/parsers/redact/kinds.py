r"""The kinds of secrets, each with what it looks like and the four bytes that betray it.

A pattern's length is bounded, and what it may begin with is a word's start, so that the
time is linear in any text. Hashes, ids, addresses and tokens of a vocabulary are none: what
has no prefix of its own counts only behind a name (``password=``), and then not where code, a
type or a placeholder stands: ``password=password``, ``api_key: str``, ``token=<pad>``.
"""

import re
from typing import Final

from triage.parsers.redact.commands import COMMANDS
from triage.parsers.redact.named import NAMED
from triage.parsers.redact.prefixes import PREFIXED
from triage.parsers.redact.requests import REQUESTS
from triage.parsers.redact.secret import WORD_END, WORD_START, Secret, any_word, secret

__all__ = ["LONGEST", "PEM_BEGIN", "PEM_KIND", "SECRETS"]

# No match is longer: what overlaps at the cuts of a line without end.
LONGEST: Final = 1 << 15
PEM_KIND: Final = "private_key"
# -----BEGIN RSA PRIVATE KEY-----, also with its body and its end on one line, as JSON has it;
# PuTTY's keys begin their private half with "Private-Lines: 14".
PEM_BEGIN: Final = re.compile(
    rb"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    rb"(?:[^-\n]|-(?!----)){0,16384}(?P<end>-----END [A-Z0-9 ]{0,80}-----)?"
    rb"|Private-Lines: [0-9]{1,4}"
)
KNOWN: Final = (
    Secret(PEM_KIND, PEM_BEGIN, ("priv",)),
    secret(PEM_KIND, rb"Private-(?:MAC|Hash): (?P<s>[0-9a-f]{40,64})", "-mac", "-has"),
    secret(PEM_KIND, rb"(?P<s>LS0tLS1CRUdJTi[A-Za-z0-9+/=]{40,16384})", "ls0t"),
    # AKIAIOSFODNN7EXAMPLE, and the secret half in the columns beside it.
    secret("aws_key", WORD_START + rb"A(?:KI|SI|BI|CC)A[A-Z0-9]{16}" + WORD_END,
           "akia", "asia", "abia", "acca"),
    secret("aws_secret", rb"A(?:KI|SI)A[A-Z0-9]{16}[^A-Za-z0-9+\n]{1,16}"
           rb"(?P<s>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])", "akia", "asia"),
    secret("aws_secret", rb"(?i:secret[_ .-]?(?:access)?[_ .-]?key)[^A-Za-z0-9/+\n]{1,16}"
           rb"(?P<s>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])", "secr"),
    secret("wandb_key",
           any_word(rb"wandb[ \t]+login(?:[ \t]{1,4}--[^\s]{1,80}){0,4}[ \t]{1,4}",
                    rb"wandb\.login\([^)\n]{0,80}?[\"']", rb"api[ _-]?key[^0-9a-z\n]{0,24}",
                    rb"wandb\.ai/authorize[^\s]{0,80}[^0-9a-f\n]{1,80}?",
                    rb"hit enter[^\s]{0,80}[^0-9a-f\n]{1,80}?", rb"password[ \t]{1,4}")
           + rb"(?P<s>[0-9a-f]{40})(?![0-9A-Za-z])", "^wan", "pi_k", "pi k", "pi-k", "pike", "sswo",
           "ente"),
    secret("aws_signature", rb"X-Amz-(?:Signature|Security-Token)="
           rb"(?P<s>[A-Za-z0-9%+/=_-]{16,4096})", "-amz"),
    secret("slack_token", WORD_START + rb"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,255}", "^xox", "xapp",
           "nxox", "dxox"),
    secret("slack_webhook", rb"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/"
           rb"(?P<s>[A-Za-z0-9_/-]{10,255})", "slac"),
    secret("api_key", WORD_START + rb"sk-(?=[A-Za-z_-]{0,250}[0-9])[A-Za-z0-9_-]{20,255}", "^sk-",
           "nsk-", "dsk-", "2sk-"),
    secret("azure_key", rb"(?i:AccountKey|SharedAccessKey)=(?P<s>[A-Za-z0-9+/]{16,256}={0,2})",
           "tkey", "skey"),
    secret("jwt", rb"(?<![A-Za-z0-9_-])(?:Bearer)?eyJ[A-Za-z0-9_-]{8,8192}"
           rb"(?:\.[A-Za-z0-9_-]{4,8192}){1,2}(?:\.[A-Za-z0-9_-]{0,2048}){0,2}", "^eyj", "deyj"),
    secret("triage_token", WORD_START + rb"triage_[A-Za-z0-9]{4,64}_[A-Za-z0-9_-]{16,255}", "tria"),
    secret("webhook_secret", rb"whsec_[A-Za-z0-9+/=]{16,255}", "whse"),
)  # fmt: skip
SECRETS: Final = (*KNOWN, *PREFIXED, *REQUESTS, *COMMANDS, *NAMED)
