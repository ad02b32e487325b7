"""Output of tools that look at a running job to looks (:mod:`triage.domain.live.look`)."""
