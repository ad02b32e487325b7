"""GPUs that the labels of telemetry name by UUID are kept as parts of their nodes."""

import io
from datetime import timedelta

import pytest

from triage.clock import read_utc_now
from triage.fleet.services.parts import answer_hardware
from triage.fleet.services.telemetry.ingest import TelemetryTarget, take_telemetry

GPUS = tuple(f"GPU-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b1{k}" for k in range(4))
NOW = read_utc_now().replace(microsecond=0)


def sample(node: str, gpu: int, uuid: str, minutes: float = 0) -> str:
    at_ms = int((NOW - timedelta(minutes=minutes)).timestamp() * 1000)
    return f'DCGM_FI_DEV_GPU_TEMP{{gpu="{gpu}",UUID="{uuid}",Hostname="{node}"}} 40 {at_ms}\n'


def post(ctx, *lines: str) -> None:
    take_telemetry(
        ctx, TelemetryTarget(cluster="a"), io.BytesIO("".join(lines).encode()).read, None
    )


def kept(ctx) -> list[tuple[str, str, str]]:
    stays = [stay for node in ("n1", "n2") for stay in answer_hardware(ctx, node=node).stays]
    return sorted((stay.node, stay.identity, stay.slot) for stay in stays)


def test_an_exporters_labels_say_which_gpu_is_where(ctx) -> None:
    post(ctx, sample("n1", 0, GPUS[0], 30), sample("n1", 1, GPUS[1]), sample("n2", 0, GPUS[2]))
    assert kept(ctx) == [("n1", GPUS[0], "0"), ("n1", GPUS[1], "1"), ("n2", GPUS[2], "0")]


def test_a_table_and_an_answer_of_prometheus_say_it_too(ctx) -> None:
    post(ctx, "timestamp,node,index,uuid,gpu_temp_c\n", f"{NOW.isoformat()},n1,0,{GPUS[0]},40\n")
    series = (
        f'{{"metric":{{"__name__":"DCGM_FI_DEV_GPU_TEMP","gpu":"1","UUID":"{GPUS[1]}",'
        f'"Hostname":"n2"}},"values":[[{NOW.timestamp():.0f},"40"]]}}'
    )
    whole = f'{{"status":"success","data":{{"resultType":"matrix","result":[{series}]}}}}'
    post(ctx, whole)
    assert kept(ctx) == [("n1", GPUS[0], "0"), ("n2", GPUS[1], "1")]


@pytest.mark.parametrize(
    "uuid", ["", "GPU-1", "MIG-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b14", "0" * 36]
)
def test_what_is_no_uuid_names_no_part(ctx, uuid: str) -> None:
    post(ctx, sample("n1", 0, uuid))
    assert kept(ctx) == []


def test_a_gpu_that_is_in_two_nodes_of_one_body_is_in_neither(ctx) -> None:
    post(ctx, sample("n1", 0, GPUS[0], 600), sample("n2", 0, GPUS[0]))
    assert kept(ctx) == []


def test_a_gpu_that_moves_is_seen_at_once(ctx) -> None:
    post(ctx, sample("n1", 0, GPUS[0], 300), sample("n1", 0, GPUS[0], 200))
    post(ctx, sample("n2", 0, GPUS[0]))
    assert kept(ctx) == [("n1", GPUS[0], "0"), ("n2", GPUS[0], "0")]
