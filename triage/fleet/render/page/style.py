"""The style of a fleet's pictures and tables: what the sheet of a report does not have yet.

Pages serve it as ``fleet.css`` after ``report.css``; the report in one file holds both.
"""

from pathlib import Path
from typing import Final

FLEET_CSS: Final = (Path(__file__).parent / "templates" / "fleet.css").read_text("utf-8")
