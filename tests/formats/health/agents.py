"""Small outputs of DCGM's watches and of agents of a cluster, as their programs print them."""

import json

EDGE = f"+{'-' * 27}+{'-' * 58}+"


def health_table(system="NVLINK system", state="Failure", *message):
    """``dcgmi health -c`` of a node whose GPU 3 has one complaint."""
    rows = [
        ("Overall Health", state),
        ("GPU", ""),
        ("-> 3", state),
        ("   -> Errors", ""),
        (f"      -> {system}", state),
        *(("", piece) for piece in message),
    ]
    table = "\n".join(f"| {left:<26}| {right:<57}|" for left, right in rows)
    title = f"| {'Health Monitor Report':<85}|"
    return f"{EDGE}\n{title}\n+{'=' * 27}+{'=' * 58}+\n{table}\n{EDGE}\n"


def health_json(system="NVLINK system", state="Failure", *message):
    """The same with ``-j``."""
    errors = {system: {"value": state, "overflow": list(message)}}
    gpu = {"value": state, "children": {"Errors": {"children": errors}}}
    body = {"GPU": {"children": {"3": gpu}}, "Overall Health": {"value": state}}
    return json.dumps({"body": body, "header": ["Health Monitor Report"]}, indent=2)


def mndiag(*results, name="mnubergemm", **around):
    """``dcgmi mndiag -j`` over n3 and n4; results are (host id, GPU, status, warnings)."""
    listed = [
        {
            "host_id": host, "entity_group": "GPU", "entity_group_id": 1, "entity_id": gpu,
            "status": status, "warnings": warnings,
        }
        for host, gpu, status, warnings in results
    ]  # fmt: skip
    tests = [{"name": name, "results": listed, "status": "Fail"}]
    return json.dumps(
        {
            "DCGM Diagnostic": "DCGM Multi-Node Diagnostic",
            "hosts": [{"host_id": 0, "hostname": "n3"}, {"host_id": 1, "hostname": "n4"}],
            "test_categories": [{"category": "Multi-Node Tests", "tests": tests}],
            **around,
        },
        indent=2,
    )


def nvlink_status(**links):
    """``dcgmi nvlink -s``: ``gpu3="UUD"``, ``switch8="UU_"``."""
    text = "+----------------------+\n|  NvLink Link Status  |\n+----------------------+\nGPUs:\n"
    for name, states in links.items():
        kind = "gpuId" if name.startswith("gpu") else "physicalId"
        text += f"    {kind} {name.lstrip('gpuswitch')}:\n        {' '.join(states)}\n"
    return text + "Key: Up=U, Down=D, Disabled=X, Not Supported=_\n"


def health_event(**differs):
    """One health event of NVSentinel."""
    event = {
        "version": 1, "agent": "syslog-health-monitor", "componentClass": "GPU",
        "checkName": "SysLogsXIDError", "isFatal": True, "isHealthy": False,
        "message": "GPU has fallen off the bus", "recommendedAction": "RESTART_BM",
        "errorCode": ["79"], "entitiesImpacted": [],
        "generatedTimestamp": "2026-11-21T03:14:00.118402339Z", "nodeName": "n4",
    }  # fmt: skip
    return {**event, **differs}


def gpud_state(health="Unhealthy", reason="", component="accelerator-nvidia-error-xid", **more):
    """``/v1/states`` with one component."""
    state = {"time": "2026-11-21T03:14:00Z", "health": health, "reason": reason, **more}
    return json.dumps([{"component": component, "states": [state]}], indent=2)


def gpud_event(kind="Fatal", message="", component="accelerator-nvidia-error-xid"):
    """``/v1/events`` with one event."""
    event = {"time": "2026-11-21T03:14:00Z", "name": "error_xid", "type": kind, "message": message}
    return json.dumps([{"component": component, "events": [event]}], indent=2)
