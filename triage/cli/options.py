"""Options that several commands take; a value that cannot be used raises UsageError."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from triage.domain.patterns import compile_re
from triage.errors import UsageError

# 2026-11-21T03:14:15Z, with an offset or none at all (UTC), seconds and fraction optional.
_RFC_3339 = compile_re(
    r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?([Zz]|[+-]\d{2}:\d{2})?", re.ASCII
)


def take(metavar: str | None, sentence: str, *names: str, **more: Any) -> Any:  # noqa: ANN401
    """An option with a value; ``more`` is what :func:`typer.Option` takes besides."""
    return typer.Option(*names, metavar=metavar, help=sentence, **more)


def take_flag(name: str, sentence: str) -> Any:  # noqa: ANN401
    """An option that is given or not."""
    return typer.Option(name, help=sentence)


def make_group(help_text: str) -> typer.Typer:
    """A command that has commands of its own."""
    return typer.Typer(
        help=help_text,
        rich_markup_mode=None,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    )


class Format(StrEnum):
    """How an answer is printed."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


class TextOrJson(StrEnum):
    """How one object is printed."""

    TEXT = "text"
    JSON = "json"


class Rows(StrEnum):
    """How rows are printed."""

    TEXT = "text"
    JSONL = "jsonl"


def require_existing(paths: Sequence[Path], job: Path | None = None) -> list[Path]:
    """``paths`` as they are. Raises UsageError where one of them, or ``job``, is not there."""
    for path in [*paths, job] if job is not None else paths:
        try:
            is_there = path.exists()
        except OSError as error:
            raise UsageError(f"cannot look at {path}: {error.strerror}") from error
        if not is_there:
            raise UsageError(f"cannot find {path}; give a folder, a file or a tar archive")
    return list(paths)


def check_top(top: int | None) -> int | None:
    """``top``. Raises UsageError for a number that shows nothing."""
    if top is not None and top < 1:
        raise UsageError(f"--top {top} shows nothing; give 1 or more")
    return top


def parse_at(text: str) -> datetime:
    """An RFC 3339 time; without an offset it is UTC. Raises UsageError."""
    try:
        if _RFC_3339.fullmatch(text) is None:
            raise ValueError
        at = datetime.fromisoformat(text.upper())
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        example = "2026-11-21T03:14:15Z"
        raise UsageError(f"--at {text!r} is no RFC 3339 time; give one like {example}") from None


def parse_since_time(text: str, option: str = "--since") -> datetime:
    """``6h`` ago or an RFC 3339 time. Raises UsageError, which names ``option``."""
    from triage.collectors.options import Misuse, parse_seconds

    try:
        return datetime.fromtimestamp(parse_seconds(text), UTC)
    except Misuse as error:
        raise UsageError(f"{option}: {error}") from error
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(f"{option} {text!r} is too long ago") from error


def parse_zoned_time(text: str | None) -> datetime | None:
    """The time of ``--since``; None where none is given. Raises UsageError."""
    from triage.services.hooks.times import parse_moment

    at = None if text is None else parse_moment(text)
    if text is not None and at is None:
        raise UsageError("--since needs a time with its zone, such as 2026-11-21T03:14:15Z")
    return at


ReportFormat = Annotated[
    Format, take(None, "text for people, json, or one html page.", "--format", "-f")
]
AnswerFormat = Annotated[TextOrJson, take(None, "text for people, or json.", "--format", "-f")]
Output = Annotated[
    Path | None, take("FILE", "Write to this file, not to stdout.", "--output", "-o")
]
IncidentId = Annotated[
    str, typer.Argument(metavar="ID", help="The incident's id.", show_default=False)
]
Paths = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH",
        help="Folders, files or tar archives of one incident.",
        show_default=False,
    ),
]
JobFile = Annotated[Path | None, take("FILE", "A job.json with facts of the job.", "--job")]
StoppedAt = Annotated[
    datetime | None,
    take(
        "TIME", "When the job stopped, RFC 3339; UTC if it has no offset.", "--at", parser=parse_at
    ),
]
Signatures = Annotated[
    Path | None,
    take("FILE", "Signatures of your own: a TOML file, or a folder of them.", "--signatures"),
]
Top = Annotated[int | None, take("N", "Show the best N suspects.", "--top", callback=check_top)]
