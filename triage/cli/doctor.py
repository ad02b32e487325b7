"""``triage doctor``: each dependency with its state and the next step."""

import json
from typing import Annotated

import typer

from triage.cli.extras import service_packages

__all__ = ["HELP", "doctor"]

HELP = """
Look at everything the service depends on, and say what to do.

\b
Exit status: 0 nothing fails (there may be warnings), 1 something does.
"""


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="One object, for scripts.")] = False,
) -> int:
    """Examine; the help stands in ``HELP``."""
    with service_packages():
        from triage.logging import configure_logging
        from triage.services.doctor import Health, examine
        from triage.settings import load_settings

        settings = load_settings()
        configure_logging(settings)
        found = examine(settings)
        fails = any(one.health is Health.FAIL for one in found)
        if as_json:
            shown = {"healthy": not fails, "findings": [one.to_dict() for one in found]}
            typer.echo(json.dumps(shown, indent=2))
        else:
            for one in found:
                typer.echo(f"{one.health:<4}  {one.thing:<10}  {one.words}")
                if one.step:
                    typer.echo(f"{'':<18}-> {one.step}")
        return 1 if fails else 0
