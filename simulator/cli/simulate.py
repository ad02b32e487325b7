"""``triage simulate``: an incident folder with a known fault, for drills and tests."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from simulator import NAMES
from triage.cli.interrupt import stop_at_once
from triage.errors import TriageError, UsageError

if TYPE_CHECKING:
    from simulator import Truth

HELP = """
Write a simulated job with a known fault, for drills.

A kind of fault writes flight-recorder dumps only. A scenario, or a category of
the report, writes a whole incident: dumps, kernel logs, job logs, job.json.
OUT.truth.json, beside the folder, says what was done to the job. `fleet` writes
the record of a fleet, as `triage fleet simulate` does.

\b
Examples:
  triage simulate --list
  triage simulate host-stall --ranks 64 --out drill/
  triage simulate gpu_hbm --ranks 16 --out drill/ --telemetry
  triage simulate host-stall --out drill/ --no-dumps --live stacks --live ras
  triage simulate --campaign llama3 --count 20 --out drills/
"""

_WRONG_USAGE = 2
_WIDTH = 80


def _option(metavar: str, sentence: str) -> Any:  # noqa: ANN401 - typer's own type
    return typer.Option(metavar=metavar, help=sentence)


def simulate(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help=f"A kind of fault ({', '.join(NAMES)}), a scenario or a category.",
        ),
    ] = None,
    folder: Annotated[
        Path | None, typer.Argument(metavar="OUT", help="Folder to write, the same as --out.")
    ] = None,
    out: Annotated[Path | None, _option("DIR", "Folder to write; it must be new or empty.")] = None,
    ranks: Annotated[int, _option("N", "Ranks (GPUs) of the job.")] = 64,
    tp: Annotated[
        int | None, _option("N", "Tensor parallel size; chosen by kind and ranks if left out.")
    ] = None,
    pp: Annotated[
        int | None, _option("N", "Pipeline stages; chosen by kind and ranks if left out.")
    ] = None,
    ep: Annotated[
        int | None, _option("N", "Expert parallel size; adds all_to_all operations.")
    ] = None,
    culprit: Annotated[
        int | None, _option("RANK", "Rank at fault; drawn by seed if left out.")
    ] = None,
    seed: Annotated[int, _option("N", "Seed; the same one gives the same bytes.")] = 0,
    entries: Annotated[int, _option("N", "Ring size (TORCH_FR_BUFFER_SIZE).")] = 2000,
    steps: Annotated[
        int | None, _option("N", "Steps before the fault; as many as fill the ring if left out.")
    ] = None,
    frames: Annotated[int, _option("N", "Stack depth of each entry; 0 for no stacks.")] = 8,
    timing: Annotated[
        bool | None,
        typer.Option(help="Timing events: state 'started' and durations; off unless live."),
    ] = None,
    run_ahead: Annotated[
        bool, typer.Option(help="The host issues ahead of its device until the end of the step.")
    ] = True,
    batched_p2p: Annotated[
        bool, typer.Option(help="Pipeline send and recv in coalesced blocks, not one by one.")
    ] = True,
    gpus_per_node: Annotated[int, _option("N", "Ranks on each node.")] = 8,
    skew_ms: Annotated[
        float, _option("MS", "Clocks of the nodes are off by up to this, either way.")
    ] = 0.0,
    delay_ms: Annotated[
        float,
        _option("MS", "How late the straggler is in each step (straggler, input-bound)."),
    ] = 60.0,
    slow_share: Annotated[
        float, _option("PART", "How much longer slow devices compute (kinds slow-...).")
    ] = 0.05,
    link_times: Annotated[
        float, _option("N", "How many times as long a slow link takes (kind slow-link).")
    ] = 3.0,
    spread: Annotated[
        float, _option("PART", "How far healthy devices differ for good, one sigma.")
    ] = 0.0,
    missing: Annotated[
        list[int] | None, _option("RANK", "No dump of this rank; repeatable.")
    ] = None,
    cut: Annotated[
        list[int] | None, _option("RANK", "The dump of this rank is cut short; repeatable.")
    ] = None,
    empty: Annotated[
        list[int] | None, _option("RANK", "The dump of this rank is empty; repeatable.")
    ] = None,
    only_active: Annotated[
        bool, typer.Option("--only-active", help="Dumps without completed entries.")
    ] = False,
    version: Annotated[str, _option("VERSION", "Dump format, 2.4 to 2.10.")] = "2.10",
    layout: Annotated[
        Literal["flat", "nodes"],
        _option("NAME", "flat: dumps under fr/; nodes: under nodes/NODE/."),
    ] = "flat",
    prefix: Annotated[str, _option("TEXT", "File name before the rank.")] = "comm_lib_trace_rank_",
    job_json: Annotated[bool, typer.Option(help="Write job.json.")] = True,
    listed: Annotated[
        bool, typer.Option("--list", help="List kinds, scenarios and their categories, and end.")
    ] = False,
    campaign: Annotated[
        str | None, _option("NAME", "Draw many incidents into OUT by a table: llama3.")
    ] = None,
    count: Annotated[int, _option("N", "Incidents of the campaign.")] = 419,
    healthy: Annotated[int, _option("N", "Healthy jobs added to the campaign.")] = 0,
    sizes: Annotated[
        str, _option("N,N", "Ranks of a campaign's jobs, with commas between.")
    ] = "16,64",
    lost: Annotated[float, _option("PART", "Share of files that an incident lacks, 0 to 1.")] = 0.0,
    skew_minutes: Annotated[
        float, _option("MIN", "Node clocks of incidents are off by up to this, either way.")
    ] = 0.05,
    kernel_lines: Annotated[int, _option("N", "Harmless kernel lines of each node.")] = 30,
    job_lines: Annotated[int, _option("N", "Progress lines of an incident's job.")] = 40,
    dumps: Annotated[bool, typer.Option(help="Write dumps.")] = True,
    bury: Annotated[
        int, _option("N", "Consequence lines added to an incident, to bury its cause.")
    ] = 0,
    telemetry: Annotated[
        bool, typer.Option("--telemetry", help="Add temperatures, power and clocks of all GPUs.")
    ] = False,
    live: Annotated[
        list[str] | None,
        _option("SOURCE", "Add two looks at a hanging job: stacks, ras, gpus; repeatable."),
    ] = None,
) -> None:
    """Write a job, an incident or a campaign; the help stands in ``HELP``."""
    from simulator import simulate as run_simulation

    if listed:
        _list()
        return
    out = out or folder
    if campaign is not None and out is None and kind is not None:
        out = Path(kind)
    if out is None or (kind is None and campaign is None):
        print("triage simulate: give what to simulate and --out DIR", file=sys.stderr)
        raise typer.Exit(_WRONG_USAGE)
    try:
        if campaign is not None:
            if campaign != "llama3":
                raise UsageError(f"there is no campaign {campaign!r}: give llama3")
            from simulator.campaign import Campaign, draw
            from simulator.incidents.whole import Wish

            drawn = Campaign(count, healthy, seed, _sizes(sizes))
            wish = Wish(
                dumps=dumps,
                live=_sources(live),
                missing=lost,
                skew_s=60 * skew_minutes,
                kernel_lines=kernel_lines,
                job_lines=job_lines,
            )
            written = list(draw(out, drawn, wish))
            print(f"wrote {len(written):,} incidents to {out}; the truth lies beside each")
            return
        if kind is None:
            raise UsageError("give what to simulate")
        if kind == "fleet":
            from simulator.cli.fleet import simulated_files
            from simulator.fleet.wish import FleetWish

            print(simulated_files(FleetWish.like_real(seed=seed), out))
            return
        if kind.replace("_", "-") not in NAMES:
            from simulator.incidents.whole import Wish, simulate_incident

            wish = Wish(
                ranks,
                gpus_per_node,
                seed,
                culprit,
                60 * skew_minutes,
                lost,
                kernel_lines=kernel_lines,
                job_lines=job_lines,
                dumps=dumps,
                bury=bury,
                telemetry=telemetry,
                live=_sources(live),
            )
            incident = simulate_incident(kind, out, wish)
            print(
                f"wrote an incident of {incident.scenario} ({incident.world_size:,} ranks, "
                f"{incident.num_nodes:,} nodes) to {out}; the truth is beside it"
            )
            return
        with stop_at_once():
            truth = run_simulation(
                kind,
                out,
                ranks=ranks,
                tp=tp,
                pp=pp,
                ep=ep,
                culprit=culprit,
                seed=seed,
                entries=entries,
                steps=steps,
                frames=frames,
                timing=timing,
                run_ahead=run_ahead,
                batched_p2p=batched_p2p,
                gpus_per_node=gpus_per_node,
                skew_ms=skew_ms,
                delay_ms=delay_ms,
                slow_share=slow_share,
                link_times=link_times,
                spread=spread,
                missing=missing or (),
                cut=cut or (),
                empty=empty or (),
                only_active=only_active,
                version=version,
                layout=layout,
                prefix=prefix,
                job_json=job_json,
                dumps=dumps,
                live=_sources(live),
                progress=_show if sys.stderr.isatty() else None,
            )
    except TriageError as error:
        print(f"triage simulate: {error}", file=sys.stderr)
        raise typer.Exit(_WRONG_USAGE) from error
    except OSError as error:
        print(f"triage simulate: cannot write {out}: {error.strerror}", file=sys.stderr)
        raise typer.Exit(_WRONG_USAGE) from error
    print(_summary(truth, out, dumps=dumps))


def _sources(names: list[str] | None) -> tuple[str, ...]:
    from simulator.live.files import LIVE_SOURCES

    unknown = [one for one in names or () if one not in LIVE_SOURCES]
    if unknown:
        raise UsageError(f"--live {unknown[0]}: give {' or '.join(LIVE_SOURCES)}")
    return tuple(names or ())


def _sizes(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")]
    except ValueError as error:
        raise UsageError(f"--sizes {text}: give numbers of ranks like 16,64") from error


def _summary(truth: "Truth", out: Path, *, dumps: bool) -> str:
    from simulator import truth_path

    shape = f"dp {truth.dp} x tp {truth.tp} x pp {truth.pp}"
    if truth.ep > 1:
        shape += f", ep {truth.ep}"
    num_dumps = truth.world_size - len(truth.missing) + len(truth.foreign_files) if dumps else 0
    return (
        f"wrote {num_dumps:,} dumps of {truth.kind} ({shape}) to {out}; "
        f"the truth is in {truth_path(out)}"
    )


def _show(done: int, total: int) -> None:
    if done % max(total // 200, 1) == 0 or done == total:
        end = "\n" if done == total else ""
        print(f"\r{done:,} of {total:,} dumps", end=end, file=sys.stderr, flush=True)


def _list() -> None:
    """All that can be simulated."""
    from simulator import KINDS
    from simulator.incidents.scenarios import SCENARIOS
    from triage.render.terminal.text import wrap

    print("kinds of fault, dumps alone:")
    for kind in KINDS.values():
        print("\n".join(wrap(kind.about, _WIDTH, first=f"  {kind.name:<18}")))
    print("scenarios, whole incidents (a category's name gives one of its scenarios):")
    for scenario in SCENARIOS.values():
        first = f"  {scenario.name:<18} {scenario.category:<18}"
        print("\n".join(wrap(scenario.about, _WIDTH, first=first)))
