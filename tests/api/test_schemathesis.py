"""Schemathesis over the whole OpenAPI file, with each scope: nothing undocumented, nothing broken.

``benchmarks/schemathesis_run.py`` does the same for longer.
"""

import pytest

from benchmarks.schemathesis_run import try_all, without_limits
from tests.api.service import SCOPES, Service


@pytest.mark.parametrize("scope", SCOPES)
def test_every_answer_is_documented(service: Service, scope: str) -> None:
    # What is written by hand and what is made at random; the systematic cases take a minute.
    without_limits(service.app)
    found = try_all(
        f"http://127.0.0.1:{service.port}", service.tokens[scope], scope,
        max_examples=2, seed=7, phases="examples,fuzzing",
    )  # fmt: skip
    assert found.failures == []
    assert found.num_calls > 50
