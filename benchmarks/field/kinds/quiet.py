"""Nothing wrong, or nothing to be seen: finished runs, live pulls of running jobs, logs that end."""

# ruff: noqa: E501
from benchmarks.field.incident import Incident
from benchmarks.field.kinds.registry import kind


def _go_on(c: Incident, told: int, steps: int) -> float:
    t = c.at
    for k in range(steps):
        t += c.step_s * c.rng.uniform(0.985, 1.02)
        c.log.progress(
            t, told + k, c.step_s * c.rng.uniform(0.985, 1.02), 2.0, c.world, c.base + 100_000
        )
    return t


@kind("healthy", "none", 4)
def finished(c: Incident) -> None:
    """A run that ended in order; its files were collected all the same."""
    rng, log = c.rng, c.log
    c.has_job = True
    c.keep_job |= set(range(c.count))
    c.runs()
    told = c.begin()
    t = _go_on(c, told, rng.randrange(1, 6))
    c.has_dumps = c.has_dumps and rng.random() < 0.25
    if c.has_dumps:
        c.live = c.moment(c.run, 1.5) if c.run else None
    for r in range(c.world):
        if rng.random() < 0.2:
            log.say(
                t + 3,
                r,
                f"[rank{r}]:[W ProcessGroupNCCL.cpp:1538] Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources.",
            )
    log.say(t + 2, 0, rng.choice([
        "[after training is done] datetime: 2025-04-01 10:11:12 ",
        "Training completed. Do not forget to share your model on huggingface.co/models =)",
        f"successfully saved checkpoint at iteration {c.base + 100_000}",
        "[titan] root - INFO - Training completed",
        "Trainer.fit stopped: max_steps reached.",
        "wandb: Synced 5 W&B file(s), 0 media file(s), 0 artifact file(s) and 0 other file(s)",
    ]), False)  # fmt: skip
    log.agent(
        t + 5,
        c.order[0],
        rng.choice(
            [
                "Process exited with code 0",
                "srun: step completed, exit 0",
                "All workers exited: succeeded",
                "torchrun: [agent] worker group successfully finished. Waiting 300 seconds for other agents to finish.",
            ]
        ),
        False,
    )
    c.ended = t + 6
    c.exit_code = 0
    c.collected = t + 100
    c.say("none", ["healthy"])
    c.truth.suspects = False
    c.truth.hard.append("finished")


@kind("live", "none", 4)
def live(c: Incident) -> None:
    """Dumps pulled from a job that runs; its log goes on after them."""
    rng = c.rng
    c.has_job = c.has_dumps = True
    c.keep_job |= set(range(c.count))
    c.timing = rng.random() < 0.2
    run = c.runs()
    ends = max(d or 0.0 for row in run.done for d in row)
    c.live = c.fault_sim
    want = rng.choice([0.0, 0.02, 0.3, 1.0])
    c.spread = min(want, max(0.0, ends - c.fault_sim) / 3.5)
    told = c.begin()
    t = _go_on(c, told, rng.randrange(3, 25))
    c.ended = None
    c.collected = t + 20
    c.say("none", ["healthy"])
    c.truth.suspects = False


@kind("log_ends", "nccl_timeout", 1)
def log_ends(c: Incident) -> None:
    """The log just ends, long before the files were taken; nothing says why."""
    rng = c.rng
    c.has_job, c.has_dumps = True, False
    c.keep_job |= set(range(c.count))
    c.runs()
    c.begin()
    c.ended = None
    c.collected = c.at + rng.uniform(3000, 20000)
    c.say("nccl_timeout", ["inconclusive", "hang"])
    c.truth.notes.append("the log stops; the nodes' logs go on")
