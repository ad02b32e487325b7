"""Certificates: checked against the authority that was given, and never passed over in silence."""

import shutil
import subprocess

import pytest

from tests.collectors.scripted import accepted, dump, run, service, waiting

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl here")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A self-signed certificate of 127.0.0.1 with its key, in one file."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout",
         "key", "-out", "crt", "-subj", "/CN=x", "-addext", "subjectAltName=IP:127.0.0.1"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    both = folder / "both.pem"
    both.write_bytes((folder / "key").read_bytes() + (folder / "crt").read_bytes())
    return both


@pytest.mark.parametrize("how", ["ca_file", "insecure"])
def test_sends_over_tls(node, tmp_path, certificate, how) -> None:
    dump(tmp_path / "fr", 2, 3_000_000)
    given = {"ca_file": str(certificate.with_name("crt"))} if how == "ca_file" else {how: True}
    with service(accepted(), certificate=certificate) as there:
        outcome = run(node(there.url, **given), tmp_path)

    assert outcome.complete, outcome.bundles[0].answer
    assert len(there.requests[0].members["fr/trace_rank_2"]) == 3_000_000


def test_a_certificate_that_nobody_vouches_for_gets_nothing(node, tmp_path, certificate) -> None:
    with service(accepted(), certificate=certificate) as there:
        outcome = run(node(there.url, deadline_s=2.0), tmp_path)

    assert there.requests == []
    assert "certificate" in outcome.bundles[0].answer.text
    assert len(waiting(tmp_path)) == 1
