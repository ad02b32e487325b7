"""Shares: files that every node of the job sees.

A dump on a network file system may be of any node's rank; to send it in this node's
name would put the rank on the wrong node, and every node would send all of them.
"""

from __future__ import annotations

import os
import re

from triage.collectors.artifact import Artifact, SearchContext
from triage.collectors.surroundings import on_network


def is_shared(path: str, context: SearchContext) -> bool:
    """Whether ``path`` lies where all nodes see it and does not bear this node's name."""
    if context.options.shared == "own":
        return False
    name = os.path.basename(path)
    if re.search(rf"(?<![A-Za-z0-9]){re.escape(context.surroundings.node)}(?![A-Za-z0-9])", name):
        return False
    return bool(on_network(os.path.dirname(path)))


def explain_left(artifact: Artifact, context: SearchContext) -> str:
    """Why this node does not send a shared ``artifact``; empty where it does."""
    if not artifact.shared or context.options.shared == "send":
        return ""
    if context.options.shared == "skip":
        return "on a network file system, and --shared skip was given"
    if context.surroundings.first is False:
        return "on a network file system; the first node of the job sends it"
    return ""
