"""The durable queue: rows of the table ``work``, done under a lease by the worker that claims them.

:mod:`triage.store.work` keeps the rows, :class:`Runner` does them, :class:`Sweeper` takes back
those of dead workers, :mod:`triage.queue.wakeups` tells workers that something is due.
"""
