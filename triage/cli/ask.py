"""A client of the service for commands: its address, the token, and errors that name commands."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, TypedDict, Unpack

import typer

from triage.cli.options import take
from triage.errors import NotFound, Unavailable, UsageError

if TYPE_CHECKING:
    from triage.client import Client

LOCAL = "http://127.0.0.1:8000"

Url = Annotated[str, take("URL", f"Address of the service [TRIAGE_URL]; else {LOCAL}.", "--url")]
TokenFile = Annotated[
    str | None, take("FILE", "File that holds the token [TRIAGE_TOKEN_FILE].", "--token-file")
]
CaFile = Annotated[
    str | None, take("FILE", "Certificate authorities to trust for https.", "--ca-file")
]


class _Limits(TypedDict, total=False):
    """How long and how often the service is asked, where it is not as usual."""

    timeout_s: float
    tries: int


@contextmanager
def open_client(
    url: str, token_file: str | None, ca_file: str | None, **limits: Unpack[_Limits]
) -> Iterator["Client"]:
    """A client of the service; what is refused raises UsageError with the command that helps.

    The token is in a file, else in ``TRIAGE_TOKEN``; it is never on the command line, where
    all users of a machine see it.
    """
    from triage.client import Client
    from triage.collectors.credentials import read_token

    environment = os.environ
    address = url or environment.get("TRIAGE_URL", "") or LOCAL
    named = token_file or environment.get("TRIAGE_TOKEN_FILE") or None
    token = read_token(named, environment)
    if token.why:
        raise UsageError(token.why)
    if token.warning:
        typer.echo(f"triage: {token.warning}", err=True)
    with Client(address, token.value or None, ca_file=ca_file, **limits) as client:
        try:
            yield client
        except NotFound as error:
            hint = error.hint.replace("GET /v1/incidents lists them", "triage incidents lists them")
            raise UsageError(f"{error.detail}; {hint}" if hint else error.detail) from error
        except Unavailable as error:
            if address is not LOCAL:
                raise
            raise UsageError(f"{error}; --url or TRIAGE_URL names another service") from error
