"""Style: the page's style sheet, its one script, and the policy that allows no others.

Both stand inside the page; the policy names them by hash, so that markup which slipped
through from a log could neither run nor restyle nor load anything.
"""

import base64
import hashlib
from pathlib import Path

_FOLDER = Path(__file__).parent / "templates"
CSS = (_FOLDER / "report.css").read_text("utf-8")
SCRIPT = (_FOLDER / "report.js").read_text("utf-8")


def compute_policy_source(text: str) -> str:
    """The source by which a policy lets just this style sheet or script through."""
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest())
    return f"'sha256-{digest.decode('ascii')}'"


POLICY = (
    f"default-src 'none'; style-src {compute_policy_source(CSS)}; script-src"
    f" {compute_policy_source(SCRIPT)}; "
    "base-uri 'none'; form-action 'none'"
)
"""Content-Security-Policy of the page."""
