"""The names of all kinds of fault, in an import that loads nothing heavy."""

__all__ = ["NAMES"]

NAMES = (
    "healthy",
    "healthy-live",
    "host-stall",
    "device-stall",
    "no-dump",
    "mismatch-op",
    "mismatch-size",
    "mismatch-dtype",
    "mismatch-pair",
    "mismatch-tie",
    "swapped-order",
    "skipped-op",
    "group-order",
    "p2p-wrong-peer",
    "p2p-missing-send",
    "p2p-size",
    "fabric-stall",
    "setup-hang",
    "straggler",
    "slow-gpu",
    "slow-link",
    "slow-stage",
    "slow-since",
    "input-bound",
    "two-culprits",
    "stale-dump",
    "mixed-jobs",
    "early-stall",
)
"""As ``kinds.KINDS`` has them; a test holds the two together."""
