"""``triage doctor``: each dependency with its state and the next step."""

import json
from typing import Annotated

import typer

from triage.cli.extras import require_service_packages

HELP = """
Check everything the service depends on, and say what to do.

\b
Exit status: 0 nothing fails (there may be warnings); 1 something fails.
"""


def doctor(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, for scripts.")
    ] = False,
) -> int:
    """Examine; the help stands in ``HELP``."""
    with require_service_packages():
        from triage.actions.services.acts import ActingOnNodes
        from triage.logging import configure_logging
        from triage.services.doctor import Health, examine
        from triage.settings import load_settings

        settings = load_settings()
        configure_logging(settings)
        findings = examine(settings, ActingOnNodes())
        fails = any(finding.health is Health.FAIL for finding in findings)
        if as_json:
            report = {"healthy": not fails, "findings": [finding.to_dict() for finding in findings]}
            typer.echo(json.dumps(report, indent=2))
        else:
            for finding in findings:
                typer.echo(f"{finding.health:<4}  {finding.thing:<10}  {finding.words}")
                if finding.step:
                    typer.echo(f"{'':<18}-> {finding.step}")
        return 1 if fails else 0
