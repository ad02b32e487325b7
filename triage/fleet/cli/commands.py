"""``triage fleet``: what the record of all incidents says, and what feeds it."""

import typer

from triage.fleet.cli.imports import HELP as IMPORT_HELP
from triage.fleet.cli.imports import import_files
from triage.fleet.cli.nodes import HELP as NODES_HELP
from triage.fleet.cli.nodes import nodes
from triage.fleet.cli.plan import HELP as PLAN_HELP
from triage.fleet.cli.plan import plan
from triage.fleet.cli.report import HELP as REPORT_HELP
from triage.fleet.cli.report import report

__all__ = ["HELP", "app"]

HELP = """
What the record of all incidents says: rates, causes, lemons, plans.

\b
    triage fleet report --days 30
    triage fleet nodes --standing lemon
    triage fleet plan --gpus 131072

Answers come from the configured database, or from a service with --url.
"""

app = typer.Typer(
    help=HELP,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
app.command(
    "report", help=REPORT_HELP, short_help="Rates, causes, projection, checkpoints, spares."
)(report)
app.command("nodes", help=NODES_HELP, short_help="How the nodes stand, the worst first.")(nodes)
app.command("plan", help=PLAN_HELP, short_help="A job of N GPUs: MTTI, checkpoints, spares.")(plan)
app.command("import", help=IMPORT_HELP, short_help="Take in runs, outages, an inventory.")(
    import_files
)
