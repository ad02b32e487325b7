"""The name of 0.1 for what :mod:`triage.reliability` hands on now; it goes with 0.3."""

import warnings

from triage.fleet.standings.standing import *  # noqa: F403 - the names of 0.1

warnings.warn("import this from triage.reliability", DeprecationWarning, stacklevel=2)
