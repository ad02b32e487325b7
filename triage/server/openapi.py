"""Writes the OpenAPI description of the whole service to stdout.

``python -m triage.server.openapi > docs/openapi.json`` writes the file; a test compares.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from triage.server.application import create_app
from triage.server.context import open_context
from triage.settings import load_settings


def main() -> None:
    """Print it."""
    with TemporaryDirectory() as folder:
        ctx = open_context(load_settings(data_dir=Path(folder)))
        text = json.dumps(create_app(ctx).openapi(), indent=1, ensure_ascii=False)
        ctx.close()
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
