"""The demo: a bundled incident, its answer as text, its page on a loopback port."""

import subprocess
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tools.environment import ROOT, NextStep, environ, say, tool

__all__ = ["bind", "show"]

INCIDENT = ROOT / "examples" / "stuck-job"
PAGE = ROOT / "var" / "demo" / "report.html"
FIRST_PORT = 8000


class QuietPages(SimpleHTTPRequestHandler):
    """Serves a folder and writes no line for each request."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
        """Stay silent."""


def show(*, once: bool) -> int:
    """Analyse the bundled incident, print the answer, and serve its page until Ctrl-C.

    Raises:
        NextStep: the analysis failed.
    """
    say(f"analysing {INCIDENT.relative_to(ROOT)}: 8 ranks on 2 nodes, one of them stopped")
    analyze("--format", "text")
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    analyze("--format", "html", "--output", str(PAGE))
    print(f"\nThe same as a page: {PAGE.relative_to(ROOT)}", flush=True)
    if not once:
        serve(PAGE)
    return 0


def analyze(*options: str) -> None:
    """Run the command a user would run."""
    command = [str(tool("triage")), "analyze", str(INCIDENT.relative_to(ROOT)), *options]
    status = subprocess.run(command, cwd=ROOT, env=environ(), check=False).returncode
    if status:
        raise NextStep(
            f"the analysis ended with status {status}. Next: `python3 run.py clean` and try again; "
            "if it stays, please report the lines above"
        )


def serve(page: Path) -> None:
    """Serve the page's folder on this machine alone, until Ctrl-C."""
    with bind(page.parent, FIRST_PORT) as server:
        print(f"Served at http://127.0.0.1:{server.server_port}/{page.name}", flush=True)
        say("Ctrl-C ends it")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("ended")


def bind(folder: Path, first_port: int) -> ThreadingHTTPServer:
    """A server of this folder on the first free loopback port from `first_port` on."""
    handler = partial(QuietPages, directory=str(folder))
    for port in (*range(first_port, first_port + 20), 0):
        try:
            return ThreadingHTTPServer(("127.0.0.1", port), handler)
        except OSError:  # taken: the next one; 0 lets the system choose
            continue
    raise NextStep("no loopback port is free. Next: `python3 run.py demo --once`")
