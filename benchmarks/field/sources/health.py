"""Health tools of GPU nodes: nvidia-smi, DCGM, exporters, node checks, agents."""

# ruff: noqa: E501
import datetime as dt
import json
import random

from benchmarks.field.nodes import Node


def clock(at: float) -> dt.datetime:
    """A time as a UTC datetime."""
    return dt.datetime.fromtimestamp(at, dt.UTC)


def smi_bus(n: Node, gpu: int) -> str:
    """nvidia-smi's spelling of a bus address."""
    domain, bus, dev = n.bus(gpu).split(":")
    return f"0000{domain}:{bus}:{dev}.0".upper()


def lost_gpu(rng: random.Random, n: Node, gpu: int, at: float) -> str:
    """nvidia-smi after a GPU was lost: a refusal, a short list, or a table with ERR."""
    bus = smi_bus(n, gpu)
    pick = rng.randrange(3)
    if pick == 0:
        return f"# {clock(at):%Y-%m-%d %H:%M:%S} {n.name} $ nvidia-smi\nUnable to determine the device handle for GPU{gpu}: {bus[4:]}: GPU is lost.  Reboot the system to recover this GPU\n"
    if pick == 1:
        rows = [
            f"GPU {i}: {n.platform.gpu} (UUID: {n.uuids[i]})" for i in range(n.platform.per_node)
        ]
        rows[gpu] = f"Unable to determine the device handle for gpu {bus}: Unknown Error"
        return (
            f"+ date -u\n{clock(at):%a %b %d %H:%M:%S UTC %Y}\n+ nvidia-smi -L\n"
            + "\n".join(rows)
            + "\n"
        )
    rows = []
    for i in range(n.platform.per_node):
        b = smi_bus(n, i)
        if i == gpu:
            rows.append(
                f"|   {i}  {n.platform.gpu[7:27]:<20}           On  | {b} Off |                 ERR! |\n| ERR!  ERR! ERR!             ERR! / ERR! |              ERR! |     ERR!        ERR! |"
            )
        else:
            rows.append(
                f"|   {i}  {n.platform.gpu[7:27]:<20}           On  | {b} Off |                    0 |\n| N/A   {rng.randrange(28, 44)}C    P0             {rng.randrange(68, 120)}W / 700W |      4MiB / 81559MiB |      0%      Default |"
            )
    return (
        f"{clock(at):%a %b %d %H:%M:%S %Y}       \n+-----------------------------------------------------------------------------+\n| NVIDIA-SMI {n.driver}   Driver Version: {n.driver}   CUDA Version: 12.4 |\n"
        + "\n".join(rows)
        + "\n+-----------------------------------------------------------------------------+\n"
    )


def query(n: Node, gpu: int, at: float, fields: dict[str, str]) -> str:
    """`nvidia-smi -q` of one GPU, with some rows that matter."""
    rows = "\n".join(f"        {k:<38}: {v}" for k, v in fields.items())
    return f"==============NVSMI LOG==============\n\nTimestamp                                 : {clock(at):%a %b %d %H:%M:%S %Y}\nDriver Version                            : {n.driver}\nAttached GPUs                             : {n.platform.per_node}\n\nGPU {smi_bus(n, gpu)}\n    Product Name                          : {n.platform.gpu}\n    GPU UUID                              : {n.uuids[gpu]}\n    Serial Number                         : {n.serials[gpu]}\n    ECC / Remapping\n{rows}\n"


def dcgm_health(n: Node, gpu: int, system: str, words: str) -> str:
    """`dcgmi health -c`."""
    body = [words[i : i + 54] for i in range(0, len(words), 54)]
    rows = [
        "+---------------------------+----------------------------------------------------------+",
        "| Health Monitor Report                                                                |",
        "+===========================+==========================================================+",
        "| Overall Health            | Failure                                                  |",
        "| GPU                       |                                                          |",
        f"| -> {gpu}                      | Failure                                                  |",
        "|    -> Errors              |                                                          |",
        f"|       -> {system:<17}| Failure                                                  |",
        *[f"|                           | {row:<56} |" for row in body],
        "+---------------------------+----------------------------------------------------------+",
    ]
    return f"$ hostname\n{n.name}\n$ dcgmi health -g 0 -c\n" + "\n".join(rows) + "\n"


def exporter(nodes: list[Node], bad: int, gpu: int, xid: int, at: float) -> str:
    """A scrape of dcgm-exporter kept for all nodes of a job."""
    rows = [
        "# HELP DCGM_FI_DEV_XID_ERRORS Value of the last XID error encountered.",
        "# TYPE DCGM_FI_DEV_XID_ERRORS gauge",
    ]
    for n in nodes:
        for g in range(n.platform.per_node):
            value = xid if (n.index, g) == (bad, gpu) else 0
            rows.append(
                f'DCGM_FI_DEV_XID_ERRORS{{gpu="{g}",UUID="{n.uuids[g]}",pci_bus_id="{smi_bus(n, g)}",device="nvidia{g}",modelName="{n.platform.gpu}",Hostname="{n.name}"}} {value} {int(at * 1000)}'
            )
    return "\n".join(rows) + "\n"


def hostengine(rng: random.Random, at: float, text: str) -> str:
    """nv-hostengine.log."""
    w = clock(at)
    return f"{w:%Y-%m-%d %H:%M:%S}.{w.microsecond // 1000:03d} ERROR [{rng.randrange(2000, 9000)}:{rng.randrange(2000, 9000)}] [[Health]] {text} [/workspaces/dcgm-rel/modules/health/DcgmHealthWatch.cpp:1021] [DcgmHealthWatch::Monitor]\n"


def nhc(n: Node, at: float, text: str) -> None:
    """A node check that takes the node out, in the node's own log."""
    n.say(at, f"ERROR:  nhc:  Health check failed:  {text}", 3, "nhc[88211]")
    n.say(
        at + 0.2,
        f"/usr/libexec/nhc/node-mark-offline:  Marking node {n.name} offline",
        4,
        "nhc[88211]",
    )


def gpud(n: Node, at: float, component: str, name: str, text: str) -> str:
    """Gpud's `/v1/events` of a node."""
    stamp = f"{clock(at):%Y-%m-%dT%H:%M:%SZ}"
    return json.dumps([{"component": component, "startTime": stamp, "events": [
        {"time": stamp, "name": name, "type": "Fatal", "message": text, "machine": n.name}]}], indent=1) + "\n"  # fmt: skip


def sentinel(n: Node, gpu: int, at: float, code: str, check: str, text: str, action: int) -> str:
    """A health event of NVSentinel."""
    return json.dumps({"version": 1, "agent": "syslog-health-monitor", "componentClass": "GPU", "checkName": check, "isFatal": True, "isHealthy": False,
                       "message": text, "recommendedAction": action, "errorCode": [code],
                       "entitiesImpacted": [{"entityType": "PCI", "entityValue": n.bus(gpu) + ".0"}, {"entityType": "GPU_UUID", "entityValue": n.uuids[gpu]}],
                       "generatedTimestamp": f"{clock(at):%Y-%m-%dT%H:%M:%SZ}", "nodeName": n.name}) + "\n"  # fmt: skip


def hyperpod(n: Node, at: float, text: str, action: str) -> None:
    """SageMaker HyperPod's agent in the node's log."""
    n.say(
        at,
        f'HealthMonitoringAgentDetectionEvent: {{"level":"info","ts":"{clock(at):%Y-%m-%dT%H:%M:%SZ}","msg":"NPD caught event: {{Source:{text}}}","condition":"{action}"}}',
        4,
        "SagemakerHealthMonitoringAgent[3121]",
    )


def npd(n: Node, at: float, reason: str, text: str) -> None:
    """node-problem-detector quoting what it saw."""
    n.say(
        at,
        f"I{clock(at):%m%d %H:%M:%S}.000000       1 log_monitor.go:160] New status generated: &{{Source:kernel-monitor Events:[{{Severity:warn Timestamp:{clock(at):%Y-%m-%d %H:%M:%S} Reason:{reason} Message:{text}}}] Conditions:[]}}",
        4,
        "node-problem-detector[4107]",
    )


def telemetry_row(
    form: int, n: Node, gpu: int, at: float, temp: int, watts: int, clock_mhz: int, reason: str
) -> str:
    """A monitor's line about one GPU, as such monitors print it into a job's output."""
    w = clock(at)
    if form == 0:
        return f"[gpu-mon] {w:%H:%M:%S} host={n.name} gpu={gpu} temp={temp}C power={watts}W sm_clk={clock_mhz}MHz throttle={reason}"
    if form == 1:
        return f"{w:%Y/%m/%d %H:%M:%S}.000, {gpu}, {smi_bus(n, gpu)}, {temp}, {watts}.20 W, {clock_mhz} MHz, {'Active' if reason != 'none' else 'Not Active'}, Not Active"
    if form == 2:
        return f"INFO:telemetry:{n.name}/gpu{gpu} tGPU={temp} pwr={watts} sm={clock_mhz} hw_thermal_slowdown={int(reason != 'none')}"
    return f'{{"ts": {int(at)}, "node": "{n.name}", "gpu": {gpu}, "temperature_c": {temp}, "power_w": {watts}, "sm_mhz": {clock_mhz}, "clocks_event_reasons": "{reason}"}}'
