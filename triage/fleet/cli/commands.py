"""``triage fleet``: what the record of all incidents says, and what feeds it."""

import typer

from triage.fleet.cli import imports, isolate, questions

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
for _name, _help, _short_help, _command in (
    (
        "report",
        questions.REPORT_HELP,
        "Rates, causes, projection, checkpoints, spares.",
        questions.report,
    ),
    ("nodes", questions.NODES_HELP, "How the nodes stand, the worst first.", questions.nodes),
    (
        "repairs",
        questions.REPAIRS_HELP,
        "Which repairs hold; nodes on probation.",
        questions.repairs,
    ),
    ("parts", questions.PARTS_HELP, "In which nodes a part is and was.", questions.parts),
    ("plan", questions.PLAN_HELP, "A job of N GPUs: MTTI, checkpoints, spares.", questions.plan),
    ("import", imports.HELP, "Take in runs, outages, an inventory.", imports.import_files),
    ("isolate", isolate.HELP, "Groups of nodes to test, round by round.", isolate.isolate),
):
    app.command(_name, help=_help, short_help=_short_help)(_command)
