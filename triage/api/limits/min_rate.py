"""How long the sender of a body is waited for: who sends next to nothing holds no place.

Only the time counts in which we wait for its bytes: not its turn, and not what we do with
them. A sender may be silent for the grace at first; what it sends earns it more, up to the
longest silence that anybody is granted. So a minimum rate holds, and a good sender may pause.
"""

from triage.settings import Settings


class MinRateTimeout:
    """Seconds, ``left_s``, for which one sender is waited for from here on."""

    def __init__(self, settings: Settings) -> None:
        self.rate = settings.min_body_rate
        self.grace_s = min(settings.body_grace_s, settings.body_idle_s)
        self.idle_s = settings.body_idle_s
        self.left_s = self.grace_s if self.rate else self.idle_s

    def spend(self, waited_s: float, num_bytes: int) -> None:
        """So many bytes came after so long a wait."""
        if self.rate:
            earned_s = num_bytes / self.rate
            self.left_s = max(0.0, min(self.idle_s, self.left_s - waited_s + earned_s))

    def why_lost(self, waited_s: float) -> str:
        """What to say to a sender for which the last wait was too long."""
        if not self.rate or waited_s >= self.grace_s:
            return f"no byte of the body came for {waited_s:.0f} s"
        return f"the body comes with fewer than {self.rate:,} bytes a second"
