"""Schemathesis over the whole OpenAPI file with each scope, against a server of its own.

``python -m benchmarks.schemathesis_run [--examples 50] [--seed 7]`` prints calls and failures a
scope, and ends with 1 when an answer is not documented, breaks its shape, or is a failure of
ours, of which the traceback is printed. ``--scope`` and ``--only REGEX`` (of paths) run a part of
it. What a schema cannot say is not asked for: that a body is a tar, that an address is
public, that a cursor is one of ours; such requests fit the schema and are rightly refused.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI

from triage.services.quotas import RateLimiter

_PHASES = "examples,coverage,fuzzing"
_NOT_ASKED = "positive_data_acceptance"


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of one run; ``failures`` are one line each."""

    scope: str
    num_calls: int
    seconds: float
    failures: list[str]


def without_limits(app: FastAPI) -> None:
    """Let a service answer at once whatever comes and however often.

    Long polls would take their minute each. Each route is asked once with a wrong token: a
    quick machine sends more of them than one address may, and 429 is no answer to look for.
    """
    app.state.triage.watch.max_waiters = 0
    app.state.triage.token_lookup.failures = RateLimiter(10_000_000)


def try_all(
    url: str,
    token: str,
    scope: str,
    *,
    max_examples: int,
    seed: int,
    phases: str = _PHASES,
    only: str | None = None,
) -> Tried:
    """Run Schemathesis against a service with one token; ``only`` is a regex of paths."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        done = subprocess.run(
            [
                str(Path(sys.executable).with_name("schemathesis")), "run", f"{url}/openapi.json",
                "-H", f"Authorization: Bearer {token}", "--phases", phases,
                "--max-examples", str(max_examples), "--seed", str(seed), "--no-shrink",
                "--continue-on-failure", "--exclude-checks", _NOT_ASKED,
                "--generation-database", "none",
                # A busy machine is no finding.
                "--suppress-health-check", "too_slow", "--request-timeout", "120",
                "--report", "json", "--report-json-path", str(report),
                *(["--include-path-regex", only] if only else []),
            ],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if not report.exists():
            return Tried(scope, 0, 0.0, [done.stdout[-2000:] + done.stderr[-2000:]])
        told = json.loads(report.read_text("utf-8"))
    failures = [
        f"{one['code']} {one['title']}: {json.dumps(one['operations'])[:2000]}"
        for one in told["failures"]
    ]
    failures += [json.dumps(one)[:2000] for one in told["errors"]]
    return Tried(scope, told["test_cases"]["generated"], told["running_time"], failures)


def _main() -> int:
    """Run with each scope and print a line each."""
    import structlog

    from tests.api.service import SCOPES, context_at, serving

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=50, help="tries a route and phase")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--scope", choices=SCOPES, nargs="+", default=SCOPES)
    parser.add_argument("--only", metavar="REGEX", help="routes whose path fits it")
    parser.add_argument("--phases", default=_PHASES)
    asked = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        ctx = context_at(Path(folder), requests_per_minute=10_000_000)
        with serving(ctx) as service:
            # A failure of ours is to be seen with where it was.
            structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("error"))
            without_limits(service.app)
            for scope in asked.scope:
                tried = try_all(
                    f"http://127.0.0.1:{service.port}", service.tokens[scope], scope,
                    max_examples=asked.examples, seed=asked.seed, phases=asked.phases,
                    only=asked.only,
                )  # fmt: skip
                print(f"{scope:7} {tried.num_calls:6,} calls in {tried.seconds:6.1f} s,"
                      f" {len(tried.failures)} failures", flush=True)  # fmt: skip
                for failure in tried.failures:
                    print("  " + failure)
                failed = failed or bool(tried.failures)
        ctx.close()
    return int(failed)


if __name__ == "__main__":
    sys.exit(_main())
