"""The Helm chart and the plain manifests: rendered by Helm, checked by Kubernetes' schemas."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from triage.settings import FROM_FILES
from triage.version import __version__

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "nccl-triage"
PLAIN = ROOT / "examples" / "kubernetes" / "service"
SCALED = ("-f", str(CHART / "scaled-example.yaml"))
EVERYTHING = (
    *SCALED, "--set", "ingress.enabled=true,ingress.host=triage.example,ingress.tlsSecret=tls",
    "--set", "serviceMonitor.enabled=true", "--set", "acting.rbac=true",
    "--set", "nodeSelector.pool=cpu", "--set", "podAnnotations.a=b",
    "--set", "networkPolicy.from[0].namespaceSelector.matchLabels.a=b",
    "--set", "image.digest=sha256:" + "1" * 64, "--set", "imagePullSecrets[0].name=x",
)  # fmt: skip
# In the plain manifests the digest is yours to fill in.
NO_DIGEST = ("--set", "image.digest=sha256:" + "0" * 64)
WAYS = {"embedded": (), "scaled": SCALED, "everything": EVERYTHING}
VERSIONS = ("1.27", "1.37")


def helm(*words: str) -> subprocess.CompletedProcess[str]:
    found = shutil.which("helm", path=str(Path(sys.executable).parent)) or shutil.which("helm")
    if found is None:
        pytest.skip("helm is not there: it has no package for this platform")
    return subprocess.run([found, *words], capture_output=True, text=True, check=False, timeout=60)


def rendered(*values: str) -> str:
    done = helm("template", "triage", str(CHART), "-n", "triage", *values)
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects(text: str) -> list[dict]:
    return [one for one in yaml.safe_load_all(text) if one]


def pods(text: str) -> list[dict]:
    return [
        one["spec"]["template"]["spec"]
        for one in objects(text)
        if one["kind"] in ("Deployment", "Job")
    ]


@pytest.mark.parametrize("way", WAYS)
def test_helm_finds_nothing_wrong(way: str) -> None:
    done = helm("lint", "--strict", str(CHART), *WAYS[way])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("way", WAYS)
def test_kubernetes_takes_every_object(way: str, version: str) -> None:
    validate = pytest.importorskip("kubernetes_validate").validate

    found = objects(rendered(*WAYS[way]))
    assert {one["kind"] for one in found} >= {"Deployment", "Service", "NetworkPolicy"}
    for one in found:
        if one["kind"] != "ServiceMonitor":  # of Prometheus' operator
            validate(one, version, strict=True)


@pytest.mark.parametrize("way", WAYS)
def test_pods_are_nobody_and_write_only_to_their_volumes(way: str) -> None:
    for pod in pods(rendered(*WAYS[way])):
        assert pod["securityContext"]["runAsNonRoot"] is True
        mounted = {volume["name"] for volume in pod["volumes"]}
        for container in [*pod["containers"], *pod.get("initContainers", [])]:
            rights = container["securityContext"]
            assert rights["readOnlyRootFilesystem"] is True
            assert rights["allowPrivilegeEscalation"] is False
            assert rights["capabilities"] == {"drop": ["ALL"]}
            assert {mount["name"] for mount in container["volumeMounts"]} <= mounted
            assert container["resources"]["limits"]["memory"]
        asks = way == "everything" and "serviceAccountName" in pod
        assert pod.get("automountServiceAccountToken", False) is asks


def test_the_commands_are_ours() -> None:
    from typer.main import get_command

    from triage.cli.main import app

    known = get_command(app).commands  # type: ignore[attr-defined]
    for pod in pods(rendered(*SCALED)):
        for container in pod["containers"]:
            triage, command, *rest = container["args"]
            options = {name for one in known[command].params for name in one.opts}
            assert triage == "triage"
            assert {word for word in rest if word.startswith("--")} <= options


def test_every_secret_setting_can_come_from_the_secret() -> None:
    import json

    schema = json.loads((CHART / "values.schema.json").read_text())
    assert set(schema["properties"]["secretKeys"]["items"]["enum"]) == set(FROM_FILES)
    [api] = [
        one for one in objects(rendered(*SCALED))
        if one["kind"] == "Deployment" and one["metadata"]["name"] == "triage-triage"
    ]  # fmt: skip
    env = {
        one["name"]: one["value"] for one in api["spec"]["template"]["spec"]["containers"][0]["env"]
    }
    assert env["TRIAGE_DATABASE_URL_FILE"] == "/run/secrets/triage/database_url"


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (("--set", "mode=other"), "mode"),
        (("--set", "mode=scaled"), "database_url among secretKeys"),
        ((*SCALED, "--set", "settings.TRIAGE_BLOB_URL="), "TRIAGE_BLOB_URL"),
        ((*SCALED, "--set", "secretName="), "needs secretName"),
        (("--set", "secretKeys={password}"), "secretKeys"),
        (("--set", "settings.PATH=x"), "settings"),
        (("--set", "replicas=3"), "replicas"),
        (("--set", "image.digest=latest"), "digest"),
        (("--set", "ingress.enabled=true"), "ingress needs host"),
    ],
)  # fmt: skip
def test_values_that_cannot_be_are_refused_by_name(values: tuple[str, ...], says: str) -> None:
    done = helm("template", "triage", str(CHART), *values)
    assert done.returncode != 0
    assert says in done.stderr


def test_chart_and_service_have_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


@pytest.mark.parametrize(("name", "values"), [("embedded", ()), ("scaled", SCALED)])
def test_the_plain_manifests_are_what_the_chart_gives(name: str, values: tuple[str, ...]) -> None:
    head, _, body = (PLAIN / f"{name}.yaml").read_text().partition("---\n")
    assert head.startswith("#")
    assert "---\n" + body == rendered(*values, *NO_DIGEST)


def test_the_rights_of_acting_are_those_of_the_plain_manifest() -> None:
    plain = objects((PLAIN / "actuator-rbac.yaml").read_text())
    [wanted] = [one["rules"] for one in plain if one["kind"] == "ClusterRole"]
    found = objects(rendered("--set", "acting.rbac=true"))
    assert [one["rules"] for one in found if one["kind"] == "ClusterRole"] == [wanted]
