"""``triage fleet``: what the record of all incidents says, and what feeds it."""

import typer

from triage.fleet.cli.imports import HELP as IMPORT_HELP
from triage.fleet.cli.imports import import_files
from triage.fleet.cli.isolate import HELP as ISOLATE_HELP
from triage.fleet.cli.isolate import isolate
from triage.fleet.cli.nodes import HELP as NODES_HELP
from triage.fleet.cli.nodes import nodes
from triage.fleet.cli.parts import HELP as PARTS_HELP
from triage.fleet.cli.parts import parts
from triage.fleet.cli.plan import HELP as PLAN_HELP
from triage.fleet.cli.plan import plan
from triage.fleet.cli.repairs import HELP as REPAIRS_HELP
from triage.fleet.cli.repairs import repairs
from triage.fleet.cli.report import HELP as REPORT_HELP
from triage.fleet.cli.report import report

HELP = """
What the record of all incidents says: rates, causes, lemons, plans.

\b
    triage fleet report --days 30
    triage fleet nodes --standing lemon
    triage fleet repairs
    triage fleet parts GPU-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b14
    triage fleet plan --gpus 131072
    triage fleet isolate --nodes n[0001-2048] --state plan.json

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
app.command("repairs", help=REPAIRS_HELP, short_help="Which repairs hold; nodes on probation.")(
    repairs
)
app.command("parts", help=PARTS_HELP, short_help="In which nodes a part is and was.")(parts)
app.command("plan", help=PLAN_HELP, short_help="A job of N GPUs: MTTI, checkpoints, spares.")(plan)
app.command("import", help=IMPORT_HELP, short_help="Take in runs, outages, an inventory.")(
    import_files
)
app.command("isolate", help=ISOLATE_HELP, short_help="Groups of nodes to test, round by round.")(
    isolate
)
