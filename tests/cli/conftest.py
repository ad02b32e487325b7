"""A brain that gives a ready answer, so that the command is tested alone."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from tests.render import answers


@pytest.fixture
def brain(monkeypatch):
    """Stands for ``triage.report``; set ``answer``, ``rows``, ``error``; ``call`` is kept."""
    module = ModuleType("triage.report")
    module.explanation = None
    module.answer, module.rows, module.error, module.call = answers.culprit(), [], None, None

    def analyze(paths, *, job=None, at=None, progress=None, signatures=None):
        module.call = SimpleNamespace(
            paths=paths, job=job, at=at, progress=progress, signatures=signatures
        )
        if progress is not None:
            progress(1, 2)
        if module.error is not None:
            raise module.error
        return SimpleNamespace(answer=module.answer)

    def read_rows(paths, signatures=None):
        module.call = SimpleNamespace(paths=paths, signatures=signatures)
        yield from module.rows
        if module.error is not None:
            raise module.error

    def explain(paths, *, job=None, at=None, progress=None, signatures=None):
        analyze(paths, job=job, at=at, progress=progress, signatures=signatures)
        return module.explanation

    module.analyze, module.read_rows, module.explain = analyze, read_rows, explain
    monkeypatch.setitem(sys.modules, "triage.report", module)
    return module
