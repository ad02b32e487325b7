"""Commands by which a service is operated: its database, audit trail, retention, erasure, blobs.

Each imports the service when it runs, for the packages of the service may be missing.
"""

import json
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from triage.cli.extras import open_service_context, require_service_packages
from triage.cli.options import make_group, parse_zoned_time, take, take_flag
from triage.errors import UsageError


def migrate(
    to: Annotated[str, take("REVISION", "A revision; head is the newest, base is none.")] = "head",
    yes_delete: Annotated[
        bool, take_flag("--yes-delete", "Delete rows that the revision has no place for.")
    ] = False,
    no_copy: Annotated[
        bool, take_flag("--no-copy", "Make no copy of an SQLite database before.")
    ] = False,
) -> int:
    """Bring the database to the newest revision, or to another.

    It may run while the release before is still running, and may run twice.
    Going back to an earlier revision asks first, and needs --yes-delete where
    nobody can be asked. An SQLite database is copied before.
    `triage serve` does it by itself for the database in its data directory.
    """
    with require_service_packages():
        from triage.logging import configure_logging
        from triage.services.schema import bring_schema, keep_copy, refuse_loss
        from triage.settings import load_settings
        from triage.store.database.engine import open_database
        from triage.store.database.migrate import read_current_revision

        settings = load_settings()
        configure_logging(settings)
        database = open_database(settings)
        try:
            before = read_current_revision(database) or "base"
            # Without a terminal nobody says yes to a loss.
            asks = sys.stdin.isatty()
            refuse_loss(
                database,
                to,
                lambda what: yes_delete or (asks and typer.confirm(f"{what}. Do it?")),
            )
            copy = None if no_copy else keep_copy(database, to)
            after = bring_schema(database, to)
        finally:
            database.close()
        if copy is not None:
            typer.echo(f"triage: the database as it was is in {copy}", err=True)
        typer.echo(f"{before} -> {after}" if before != after else f"{after}, nothing to do")
        return 0


def audit(
    actor: Annotated[str | None, take("ID", "Only acts of this token, or local.")] = None,
    action: Annotated[str | None, take("NAME", "Only such acts: taint token, log in ...")] = None,
    subject: Annotated[str | None, take("ID", "Only what was done to this.")] = None,
    since: Annotated[str | None, take("TIME", "Only what was done then or later.")] = None,
    limit: Annotated[int, take("N", "Lines at most.", min=1)] = 100,
) -> int:
    """List who changed what, newest first.

    \b
        triage audit --actor key_01... --since 2026-11-21T03:00Z
        triage audit --subject inc_01...

    An act has a time, the id of a token (or local), what was done, to what, and
    details as JSON. GET /v1/audit lists the same to tokens with the scope admin.
    """
    with open_service_context() as ctx:
        from triage.domain.wire import format_iso_utc
        from triage.render.words.clean import format_one_line
        from triage.store.access.audit import list_acts

        at = parse_zoned_time(since)
        with ctx.database.reading() as session:
            acts = list_acts(session, limit, actor=actor, action=action, subject=subject, since=at)
        for act in acts:
            detail = json.dumps(act.detail, ensure_ascii=False, default=str) if act.detail else ""
            line = f"{format_iso_utc(act.at)}  {act.actor}  {act.action}  {act.subject}  {detail}"
            typer.echo(format_one_line(line).rstrip())
    return 0


def prune(
    dry_run: Annotated[
        bool, take_flag("--dry-run", "Print what would be removed; remove nothing.")
    ] = False,
    older_than_days: Annotated[
        float | None, take("N", "Days an incident is kept [TRIAGE_KEEP_DAYS].", min=0)
    ] = None,
    blobs_older_than_days: Annotated[
        float | None, take("N", "Days its files are kept [TRIAGE_KEEP_BLOBS_DAYS].", min=0)
    ] = None,
    trust_clock: Annotated[
        bool, take_flag("--trust-clock", "Although it has jumped: the time is right.")
    ] = False,
) -> int:
    """Remove incidents and files whose time to be kept is over.

    TRIAGE_KEEP_DAYS says for how many days settled incidents are kept, and
    TRIAGE_KEEP_BLOBS_DAYS for how many days the bytes of their files are. Answers,
    evidence and labels stay readable without the bytes.
    The scheduler does the same once a day.
    """
    with open_service_context() as ctx:
        from triage.services.retention.prune import believe_clock
        from triage.services.retention.prune import prune as remove

        if not dry_run and not trust_clock:
            believe_clock(ctx)
        keep, keep_blobs = ctx.settings.keep_days, ctx.settings.keep_blobs_days
        gone = remove(
            ctx,
            keep if older_than_days is None else older_than_days,
            keep_blobs if blobs_older_than_days is None else blobs_older_than_days,
            dry_run=dry_run,
        )
    typer.echo(
        f"{'would remove' if dry_run else 'removed'} {gone.num_incidents} incidents,"
        f" {gone.num_uploads} blobs, {gone.stored_bytes / 1e6:.1f} MB"
    )
    return 0


def retry(
    incident: Annotated[str | None, take("ID", "Of this incident.")] = None,
    every: Annotated[bool, take_flag("--all", "Of all incidents.")] = False,
    signatures: Annotated[bool, take_flag("--signatures", "Logs that were read as well.")] = False,
) -> int:
    """Read again what could not be read, and answer anew.

    Files that were set apart, files that wait for the blob store or a folder, and
    incidents that failed. What is wrong with a file itself stays wrong, unless a
    newer release reads it.

    With --signatures, the logs of one incident that were read are read again too,
    with the own signatures in force now, where their bytes are still stored.
    """
    if (incident is None) == (not every):
        raise UsageError("say which: --incident ID, or --all")
    if signatures and incident is None:
        raise UsageError("--signatures reads the logs of one incident: name it by --incident ID")
    with open_service_context() as ctx:
        from triage.services.incidents.resolve import retry as again

        done = again(ctx, incident, all_logs=signatures)
    typer.echo(f"{done.num_files} files of {done.num_incidents} incidents are read again")
    return 0


def doctor(
    as_json: Annotated[bool, take_flag("--json", "Print one JSON object, for scripts.")] = False,
) -> int:
    """Check everything the service depends on, and say what to do.

    \b
    Exit status: 0 nothing fails (there may be warnings); 1 something fails.
    """
    with require_service_packages():
        from triage.logging import configure_logging
        from triage.server.context import open_context
        from triage.services.doctor import Health, examine
        from triage.settings import load_settings

        settings = load_settings()
        configure_logging(settings)
        findings = examine(settings, open_context)
        fails = any(finding.health is Health.FAIL for finding in findings)
        if as_json:
            report = {"healthy": not fails, "findings": [asdict(finding) for finding in findings]}
            typer.echo(json.dumps(report, indent=2))
        else:
            for finding in findings:
                typer.echo(f"{finding.health:<4}  {finding.thing:<10}  {finding.words}")
                if finding.step:
                    typer.echo(f"{'':<18}-> {finding.step}")
        return 1 if fails else 0


_DELETE_HELP = """
Erase an incident, or one of its files, for good.

Rows, bytes, answers and kept messages go, and receivers that were told of the
incident are told that it is deleted. What was erased is not taken again.
Backups hold it until they are removed.
"""

delete_app = make_group(_DELETE_HELP)
_Reason = Annotated[str, take("TEXT", "Why; the audit trail keeps it.", "--reason")]


@delete_app.command()
def incident(
    incident_id: Annotated[str, typer.Argument(metavar="ID", help="The incident's id.")],
    reason: _Reason,
) -> int:
    """Erase an incident with all its files. Other files of the job open a new one."""
    with open_service_context() as ctx:
        from triage.services.retention.erase import delete_incident

        delete_incident(ctx, incident_id, "local", reason)
    typer.echo(f"{incident_id} is erased")
    return 0


@delete_app.command()
def artifact(
    artifact_id: Annotated[str, typer.Argument(metavar="ID", help="The file's id.")],
    reason: _Reason,
) -> int:
    """Erase one file. Its incident is answered again without it."""
    with open_service_context() as ctx:
        from triage.services.retention.erase import delete_artifact

        of = delete_artifact(ctx, artifact_id, "local", reason)
    typer.echo(f"{artifact_id} is erased; {of} is answered again")
    return 0


store_app = make_group("Look after the blob store.")


@store_app.command()
def sweep(
    yes: Annotated[
        bool, take_flag("--yes", "Do it; without this, only say what it means.")
    ] = False,
) -> int:
    """Delete blobs of more than a week ago that no row of this database names.

    They are left by requests that failed. Blobs of another installation in the same store, and
    those that came after the state to which this database was restored, would go as well.
    """
    with open_service_context() as ctx:
        from triage.clock import read_utc_now
        from triage.services.retention.prune import sweep as remove

        num_blobs, num_unnamed = remove(ctx, read_utc_now(), dry_run=not yes)
        if not yes:
            raise UsageError(
                f"{num_unnamed:,} of {num_blobs:,} blobs would be deleted for good: first"
                " see that no other service writes to TRIAGE_BLOB_URL, and that this database is"
                " the one to keep; --yes deletes them"
            )
    typer.echo(f"removed {num_unnamed:,} of {num_blobs:,} blobs")
    return 0
