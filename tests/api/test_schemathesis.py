"""Schemathesis over the whole OpenAPI file: nothing undocumented, nothing broken.

The token may do all; what others are refused, `test_scopes.py` asks of each route.
``benchmarks/schemathesis_run.py`` does the same with each scope, and for longer.
"""

from benchmarks.schemathesis_run import try_all, without_limits
from tests.api.service import Service


def test_every_answer_is_documented(service: Service) -> None:
    # What is written by hand and what is made at random; the systematic cases take a minute.
    without_limits(service.app)
    found = try_all(
        f"http://127.0.0.1:{service.port}", service.tokens["admin"], "admin",
        max_examples=2, seed=7, phases="examples,fuzzing",
    )  # fmt: skip
    assert found.failures == []
    assert found.num_calls > 50
