"""Small outputs of the tools, as their programs print them."""

import json

SMI = """
==============NVSMI LOG==============

Timestamp                                 : Sat Nov 21 03:20:11 2026
Driver Version                            : 570.86.15
CUDA Version                              : 12.8

Attached GPUs                             : 2
{gpus}
"""
SMI_GPU = """\
GPU 00000000:{bus}:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Persistence Mode                      : {persistence}
    PCI
        Bus                               : 0x1B
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : {gen}
                Device Max                : 5
            Link Width
                Max                       : 16x
                Current                   : {width}x
    Fan Speed                             : N/A
    Performance State                     : {state}
    Clocks Event Reasons
        Idle                              : Active
        SW Power Cap                      : {power_cap}
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : {thermal}
            HW Power Brake Slowdown       : {brake}
        SW Thermal Slowdown               : Not Active
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable Parity     : 0
            SRAM Uncorrectable SEC-DED    : {sram}
            DRAM Correctable              : 7
            DRAM Uncorrectable            : {dram}
        Aggregate
            SRAM Uncorrectable Parity     : 0
            DRAM Uncorrectable            : {ever}
    Retired Pages
        Single Bit ECC                    : N/A
        Double Bit ECC                    : N/A
        Pending Page Blacklist            : N/A
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : {rows}
        Pending                           : {pending}
        Remapping Failure Occurred        : {failed}
    Temperature
        GPU Current Temp                  : {temp} C
        GPU T.Limit Temp                  : N/A
        GPU Slowdown Temp                 : 95 C
    Processes                             : None
"""
HEALTHY = {
    "bus": "1B", "persistence": "Enabled", "gen": 5, "width": 16, "state": "P0",
    "power_cap": "Not Active", "thermal": "Not Active", "brake": "Not Active", "sram": 0,
    "dram": 0, "ever": 0, "rows": 0, "pending": "No", "failed": "No", "temp": 61,
}  # fmt: skip


def smi(*gpus):
    """``nvidia-smi -q`` of GPUs that differ from a healthy one as the mappings say."""
    return SMI.format(gpus="\n".join(SMI_GPU.format(**{**HEALTHY, **one}) for one in gpus))


SMI_XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
  <timestamp>Sat Nov 21 03:20:11 2026</timestamp>
  <gpu id="00000000:1B:00.0">
    <persistence_mode>Enabled</persistence_mode>
    <pci><pci_gpu_link_info>
      <pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>5</current_link_gen></pcie_gen>
      <link_widths><max_link_width>16x</max_link_width>
        <current_link_width>8x</current_link_width></link_widths>
    </pci_gpu_link_info></pci>
    <performance_state>P0</performance_state>
    <clocks_event_reasons>
      <clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
      <clocks_event_reason_hw_thermal_slowdown>Active</clocks_event_reason_hw_thermal_slowdown>
      <clocks_event_reason_sw_power_cap>Not Active</clocks_event_reason_sw_power_cap>
    </clocks_event_reasons>
    <ecc_errors><volatile><dram_uncorrectable>2</dram_uncorrectable>
      <sram_uncorrectable_parity>0</sram_uncorrectable_parity></volatile></ecc_errors>
    <remapped_rows><remapped_row_unc>1</remapped_row_unc>
      <remapped_row_pending>Yes</remapped_row_pending>
      <remapped_row_failure>No</remapped_row_failure></remapped_rows>
    <temperature><gpu_temp>61 C</gpu_temp>
      <gpu_temp_slow_threshold>95 C</gpu_temp_slow_threshold></temperature>
  </gpu>
</nvidia_smi_log>
"""


def dcgm3(name="Memory", status="Fail", gpu="3", warning="Detected 2 double bit errors"):
    result = {"gpu_id": gpu, "status": status}
    if warning:
        result["warnings"] = [{"error_id": 40, "error_category": 1, "warning": warning}]
    passed = {"gpu_id": "0", "status": "Pass"}
    tests = [{"name": name, "results": [passed, result]}, None]
    document = {"test_categories": [{"category": "Hardware", "tests": tests}], "version": "3.3.5"}
    return json.dumps({"DCGM GPU Diagnostic": document}, indent=2)


def dcgm4(name="memory", status="Fail", warning="Detected 2 double bit errors"):
    results = [
        {"entity_group": "GPU", "entity_group_id": 1, "entity_id": 0, "status": "Pass"},
        {
            "entity_group": "GPU", "entity_group_id": 1, "entity_id": 3, "status": status,
            "warnings": [{"error_id": 40, "error_severity": 2, "warning": warning}],
        },
    ]  # fmt: skip
    test = {"name": name, "results": results, "test_summary": {"status": status}}
    category = {"category": "Hardware", "tests": [test]}
    return json.dumps(
        {
            "DCGM Diagnostic": {"test_categories": [category]},
            "entity_groups": [{"entity_group": "GPU", "entities": [{"entity_id": 3}]}],
            "metadata": {"version": "4.2.3", "Driver Version Detected": "570.86.15"},
        }
    )


def nccl(*nodes, busbw=480.0, wrong=0, ended=True):
    """One run of all_reduce_perf, eight ranks a node."""
    lines = ["# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor)", "#"]
    for rank in range(8 * len(nodes)):
        node = nodes[rank // 8]
        lines.append(
            f"#  Rank {rank:2d} Group  0 Pid {374 + rank:6d} on {node:>10s} device {rank % 8:2d}"
            " [0x1b] NVIDIA H100 80GB HBM3"
        )
    lines.append(
        "#       size         count      type   redop    root     time   algbw   busbw #wrong"
        "     time   algbw   busbw #wrong"
    )
    for size, share in ((8, 0.0), (1 << 33, 1.0)):
        speed = busbw * share
        cells = f"{31250:8d} {speed / 1.75:7.2f} {speed:7.2f} {wrong:6d}"
        lines.append(f"{size:12d} {size // 4:13d}     float     sum      -1  {cells}  {cells}")
    if ended:
        lines.append(f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}")
        lines.append(f"# Avg bus bandwidth    : {busbw / 2:.4f} ")
    return "\n".join(lines) + "\n"


def ibstat(**ports):
    """Ports as ``mlx5_0=("Active", "LinkUp", 400)``."""
    text = ""
    for name, (state, physical, rate) in ports.items():
        text += f"CA '{name}'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n"
        text += f"\t\tState: {state}\n\t\tPhysical state: {physical}\n\t\tRate: {rate}\n"
        text += "\t\tBase lid: 13\n\t\tLink layer: InfiniBand\n"
    return text


def perfquery(lid=13, **counters):
    names = {"SymbolErrorCounter": 0, "LinkDownedCounter": 0, "PortRcvErrors": 0, **counters}
    head = (
        f"# Port counters: Lid {lid} port 1 (CapMask: 0x5A00)\nPortSelect:......................1\n"
    )
    return head + "".join(f"{name}:{'.' * (30 - len(name))}{n}\n" for name, n in names.items())


QUERY_ERRORS = """\
Errors for "n3 mlx5_0"
   GUID 0xe41d2d0300a5ff12 port 1: [SymbolErrorCounter == 34] [LinkDownedCounter == 2]
Errors for 0xe41d2d0300a5ff00 "MF0;leaf3:MQM9700/U1"
   GUID 0xe41d2d0300a5ff00 port ALL: [SymbolErrorCounter == 40]
   GUID 0xe41d2d0300a5ff00 port 7: [SymbolErrorCounter == 40]
## Summary: 132 nodes checked, 2 bad nodes found
"""
SINFO = """\
REASON               USER      TIMESTAMP           NODELIST
Xid 79 on GPU 3      root      2026-11-21T03:20:11 gpu[003,017]
triage:inc:gpu_hbm:0 triage    2026-11-21T03:21:00 gpu004
Kill task failed     root      2026-11-20T03:21:00 gpu005
"""
SCONTROL = """\
NodeName=gpu003 Arch=x86_64 CoresPerSocket=56
   CPUAlloc=0 CPUEfctv=224 CPUTot=224 CPULoad=0.10
   State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1
   Reason=NVLink error on GPU 3 [root@2026-11-21T03:20:11]

NodeName=gpu004 Arch=x86_64 CoresPerSocket=56
   State=ALLOCATED ThreadsPerCore=1 TmpDisk=0 Weight=1
"""
HOST_JSON = (
    '{"node": "n3", "check": "pcie_width", "status": "fail",'
    ' "detail": "GPU 3 lane width x8 of x16", "at": "2026-11-21T03:20:11Z"}\n'
    '{"node": "n4", "check": "pcie_width", "status": "ok"}\n'
)
HOST_PLAIN = "pcie_width: FAIL x8 of x16\ndmesg: OK\nulimit = warning 1024\n"
IMBUE = """\
Running health checks on nodes:  ['10.0.0.7', '10.0.0.8', '10.0.0.9']
Health ComputeHostHealth.OK
Health ComputeHostHealth.CRITICAL
10.0.0.7: 
Several issues were found:
\t0: HealthCheckError: GPU 3 has uncorrectable ECC errors
\t1: HealthCheckWarning: swap is on
Several issues were found, and the suggested remediations are:
\t0: HealthCheckError: replace the GPU
Health ComputeHostHealth.UNHEALTHY
10.0.0.9: 
InfiniBand port mlx5_3 is down
Check the cable


----------------------------SUMMARY:----------------------------

Nodes with ComputeHostHealth.OK: ['10.0.0.8']
Nodes with ComputeHostHealth.UNHEALTHY: ['10.0.0.9']
Nodes with ComputeHostHealth.CRITICAL: ['10.0.0.7']
Nodes with ComputeHostHealth.UNKNOWN: []
"""  # noqa: W291
