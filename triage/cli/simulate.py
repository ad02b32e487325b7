"""``triage simulate``: an incident folder with a known fault, for drills and tests."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from triage.errors import TriageError
from triage.simulator import NAMES

if TYPE_CHECKING:
    from triage.simulator import Truth

__all__ = ["simulate"]

WRONG_USAGE = 2


def simulate(
    kind: Annotated[str, typer.Argument(help=f"The fault: {', '.join(NAMES)}.")],
    out: Annotated[Path, typer.Option(help="Where to write; a folder that is new or empty.")],
    ranks: Annotated[int, typer.Option(help="Ranks (GPUs) of the job.")] = 64,
    tp: Annotated[
        int | None, typer.Option(help="Tensor parallel size; chosen by kind and ranks if left out.")
    ] = None,
    pp: Annotated[
        int | None, typer.Option(help="Pipeline stages; chosen by kind and ranks if left out.")
    ] = None,
    ep: Annotated[
        int | None, typer.Option(help="Expert parallel size; adds all_to_all operations.")
    ] = None,
    culprit: Annotated[
        int | None, typer.Option(help="The rank at fault; by chance if left out.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 0,
    entries: Annotated[int, typer.Option(help="Ring size (TORCH_FR_BUFFER_SIZE).")] = 2000,
    steps: Annotated[
        int | None, typer.Option(help="Steps before the fault; enough to fill the ring if left out")
    ] = None,
    frames: Annotated[int, typer.Option(help="Stack depth of each entry; 0 for no stacks.")] = 8,
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
    gpus_per_node: Annotated[int, typer.Option(help="Ranks on each node.")] = 8,
    skew_ms: Annotated[
        float, typer.Option(help="Clocks of the nodes are off by up to this, either way.")
    ] = 0.0,
    delay_ms: Annotated[
        float, typer.Option(help="How late the straggler is in each step (kind straggler).")
    ] = 60.0,
    missing: Annotated[
        list[int] | None, typer.Option(metavar="RANK", help="No dump of this rank; repeatable.")
    ] = None,
    cut: Annotated[
        list[int] | None,
        typer.Option(metavar="RANK", help="The dump of this rank is cut short; repeatable."),
    ] = None,
    empty: Annotated[
        list[int] | None,
        typer.Option(metavar="RANK", help="The dump of this rank is empty; repeatable."),
    ] = None,
    only_active: Annotated[
        bool, typer.Option("--only-active", help="Dumps without completed entries.")
    ] = False,
    version: Annotated[str, typer.Option(help="Dump format, 2.4 to 2.10.")] = "2.10",
    layout: Annotated[
        Literal["flat", "nodes"], typer.Option(help="Dumps under fr/, or under nodes/NODE/.")
    ] = "flat",
    prefix: Annotated[
        str, typer.Option(help="File name before the rank.")
    ] = "comm_lib_trace_rank_",
    job_json: Annotated[bool, typer.Option(help="Write job.json.")] = True,
) -> None:
    """Write the flight-recorder dumps of a job with a known fault.

    What was done to the job is written beside the folder, as OUT.truth.json.
    """
    from triage.simulator import simulate as run_simulation

    try:
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
            missing=missing or (),
            cut=cut or (),
            empty=empty or (),
            only_active=only_active,
            version=version,
            layout=layout,
            prefix=prefix,
            job_json=job_json,
            progress=_show if sys.stderr.isatty() else None,
        )
    except TriageError as error:
        print(f"triage simulate: {error}", file=sys.stderr)
        raise typer.Exit(WRONG_USAGE) from error
    except OSError as error:
        print(f"triage simulate: cannot write {out}: {error.strerror}", file=sys.stderr)
        raise typer.Exit(WRONG_USAGE) from error
    print(_summary(truth, out))


def _summary(truth: "Truth", out: Path) -> str:
    from triage.simulator import truth_path

    shape = f"dp {truth.dp} x tp {truth.tp} x pp {truth.pp}"
    if truth.ep > 1:
        shape += f", ep {truth.ep}"
    dumps = truth.world_size - len(truth.missing) + len(truth.foreign_files)
    return (
        f"wrote {dumps:,} dumps of {truth.kind} ({shape}) to {out}; "
        f"the truth is in {truth_path(out)}"
    )


def _show(done: int, total: int) -> None:
    if done % max(total // 200, 1) == 0 or done == total:
        end = "\n" if done == total else ""
        print(f"\r{done:,} of {total:,} dumps", end=end, file=sys.stderr, flush=True)
