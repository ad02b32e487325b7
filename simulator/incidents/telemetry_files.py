"""Sensors' readings as exporters and tools write them: one form an incident."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from simulator.incidents.story import Story
from simulator.incidents.telemetry import Sensors, rack_of
from simulator.incidents.world import SECOND, Node

FORMS: Final = ("dcgm", "prometheus", "nvidia-smi", "csv")
_NAMES: Final = (
    ("DCGM_FI_DEV_GPU_TEMP", "temp_c"),
    ("DCGM_FI_DEV_MEMORY_TEMP", "memory_temp_c"),
    ("DCGM_FI_DEV_POWER_USAGE", "power_w"),
    ("DCGM_FI_DEV_SM_CLOCK", "clock_mhz"),
    ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "reasons"),
    ("DCGM_FI_DEV_GPU_UTIL", "utilisation"),
)


def telemetry_files(story: Story, sensors: Sensors) -> Iterator[tuple[str, str]]:
    """(name, text) of the files that hold the readings."""
    form = story.world.chance("telemetry form").choice(FORMS)
    if form == "dcgm":
        yield "telemetry/scrapes.prom", "".join(_scrapes(story, sensors))
    elif form == "prometheus":
        yield "telemetry/query_range.json", _answer(story, sensors)
    elif form == "csv":
        yield "telemetry/gpus.csv", "".join(_long_table(story, sensors))
    else:
        for node in story.world.nodes:
            yield f"nodes/{node.name}/nvidia-smi.csv", "".join(_smi(story, sensors, node))
        yield "telemetry/inlet.csv", "".join(_inlets(story, sensors))


def _labels_of(story: Story, rank: int) -> dict[str, str]:
    world = story.world
    node, local = world.node_of(rank), world.local(rank)
    domain, bus, device = node.buses[local].split(":")
    return {
        "gpu": str(local),
        "UUID": f"GPU-{rank:08x}-9f1c-4f7b",
        "device": f"nvidia{local}",
        "pci_bus_id": f"0000{domain}:{bus}:{device}.0".upper(),
        "modelName": world.gpu,
        "Hostname": node.fqdn,
    }


def _series_of(story: Story, sensors: Sensors) -> Iterator[tuple[str, dict[str, str], list[float]]]:
    """(metric, labels, readings) of every GPU, then of every inlet."""
    for metric, field in _NAMES:
        table = getattr(sensors, field)
        for rank in range(story.world.ranks):
            yield metric, _labels_of(story, rank), table[rank].round(1).tolist()
    for node in story.world.nodes:
        rack = f"r{rack_of(story, node.index):02d}"
        labels = {"name": "Inlet Temp", "instance": f"{node.fqdn}:9290", "rack": rack}
        yield "ipmi_temperature_celsius", labels, sensors.inlet_c[node.index].round(1).tolist()


def _scrapes(story: Story, sensors: Sensors) -> Iterator[str]:
    """What a loop of curl over the exporters appends."""
    rows = [
        (metric, metric + "{" + ",".join(f'{k}="{v}"' for k, v in labels.items()) + "}", values)
        for metric, labels, values in _series_of(story, sensors)
    ]
    for place, at_ns in enumerate(sensors.at_ns.tolist()):
        yield f"# at {_utc_text(at_ns)}\n"
        known = ""
        for metric, head, values in rows:
            if metric != known:
                yield f"# TYPE {metric} gauge\n"
                known = metric
            yield f"{head} {values[place]:g}\n"


def _answer(story: Story, sensors: Sensors) -> str:
    """What Prometheus answers to a range query."""
    times = (sensors.at_ns // SECOND).tolist()
    result: list[dict[str, object]] = [
        {
            "metric": {**labels, "__name__": metric, "job": "dcgm"},
            "values": [[at, f"{value:g}"] for at, value in zip(times, values, strict=True)],
        }
        for metric, labels, values in _series_of(story, sensors)
    ]
    body = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    return json.dumps(body, separators=(",", ":"))


def _long_table(story: Story, sensors: Sensors) -> Iterator[str]:
    """An export with one sample a row."""
    yield "at,node,gpu,rack,metric,value\n"
    times = [_utc_text(at) for at in sensors.at_ns.tolist()]
    for metric, labels, values in _series_of(story, sensors):
        name = "inlet_temp_c" if metric.startswith("ipmi") else metric
        node = labels.get("Hostname") or labels["instance"].split(":")[0]
        head = f"{node},{labels.get('pci_bus_id', '')},{labels.get('rack', '')},{name}"
        for at, value in zip(times, values, strict=True):
            yield f"{at},{head},{value:g}\n"


def _inlets(story: Story, sensors: Sensors) -> Iterator[str]:
    yield "at,node,rack,inlet_temp_c\n"
    for node in story.world.nodes:
        for at, value in zip(sensors.at_ns.tolist(), sensors.inlet_c[node.index], strict=True):
            yield f"{at // SECOND},{node.name},r{rack_of(story, node.index):02d},{value:.1f}\n"


def _smi(story: Story, sensors: Sensors, node: Node) -> Iterator[str]:
    """``nvidia-smi --query-gpu=... --format=csv -l 30`` on one node, by its own clock and zone."""
    yield (
        "timestamp, index, pci.bus_id, temperature.gpu, temperature.memory, power.draw [W],"
        " clocks.current.sm [MHz], clocks_event_reasons.active, utilization.gpu [%]\n"
    )
    ahead = node.skew_ns + node.zone_s * SECOND
    for place, at_ns in enumerate(sensors.at_ns.tolist()):
        when = datetime.fromtimestamp((at_ns + ahead) // SECOND, UTC)
        stamp = when.strftime("%Y/%m/%d %H:%M:%S.") + f"{at_ns // 1_000_000 % 1000:03d}"
        for rank in story.world.ranks_on(node):
            bus = _labels_of(story, rank)["pci_bus_id"]
            yield (
                f"{stamp}, {story.world.local(rank)}, {bus}, {sensors.temp_c[rank, place]:.0f},"
                f" {sensors.memory_temp_c[rank, place]:.0f}, {sensors.power_w[rank, place]:.2f} W,"
                f" {sensors.clock_mhz[rank, place]:.0f} MHz,"
                f" 0x{sensors.reasons[rank, place]:016x},"
                f" {sensors.utilisation[rank, place]:.0f} %\n"
            )


def _utc_text(at_ns: int) -> str:
    return datetime.fromtimestamp(at_ns // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
