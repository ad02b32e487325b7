"""Files of an incident that name parts: read once, kept as stays, gone with a token."""

from tests.services.whole_jobs import body_of, tar_of
from tests.support.work import do_all
from triage.domain.failure_match import Failure
from triage.domain.states import WorkKind
from triage.fleet.services.parts import answer_hardware
from triage.sandbox.pool import Readers
from triage.services.context import Context
from triage.services.incidents.announce import announce
from triage.services.taint import taint_token
from triage.services.tokens import create_token
from triage.services.uploads.ingest import take_bundle
from triage.services.uploads.received import Target

GPUS = tuple(f"GPU-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b1{k}" for k in range(2))
SMI_L = "".join(f"GPU {k}: NVIDIA H100 (UUID: {gpu})\n" for k, gpu in enumerate(GPUS)).encode()
DMI = b"# dmidecode 3.3\nSystem Information\n\tManufacturer: Acme\n\tSerial Number: J3009X4K\n"
FILES = {"nvidia-smi-L.txt": SMI_L, "dmidecode.txt": DMI}


def kept(ctx: Context, **asked: str) -> list[tuple[str, str, str, str]]:
    found = answer_hardware(ctx, cluster="a", **asked)
    return sorted((stay.node, stay.kind, stay.identity, stay.slot) for stay in found.stays)


def test_parts_of_a_nodes_files_are_kept_and_go_with_their_token(
    ctx: Context, readers: Readers
) -> None:
    key, _ = create_token(ctx, "node", ["ingest"], "test")
    opened = announce(ctx, Failure("4711", "a", expected_artifacts=len(FILES)))
    target = Target("4711", node="n12", incident=opened.id, cluster="a", caller=key.caller())
    take_bundle(ctx, target, body_of(tar_of(FILES)), None)
    do_all(ctx, readers, WorkKind.PARSE)
    expected = [
        ("n12", "chassis", "J3009X4K", ""),
        ("n12", "gpu", GPUS[0], "0"),
        ("n12", "gpu", GPUS[1], "1"),
    ]
    assert kept(ctx, node="n12") == expected
    assert kept(ctx, identity="j3009x4k") == expected[:1]

    taint_token(ctx, key.id, "test")
    assert kept(ctx, node="n12") == []
