"""Everyday lines of busy, healthy nodes: other people's jobs, daemons, corrected errors.

All of it is harmless. Sources: kernel and driver print strings, daemons' logs in public threads.
"""

# ruff: noqa: E501

import random
from collections.abc import Callable

from benchmarks.field.nodes import Node

Maker = Callable[[random.Random, Node, float], None]
PROGRAMS = [
    "node_exporter",
    "dcgm-exporter",
    "vector",
    "fluent-bit",
    "telegraf",
    "containerd-shim",
    "sshd",
    "sssd_be",
    "zabbix_agentd",
    "otelcol",
    "falcon-sensor",
    "collectd",
    "tuned",
    "polkitd",
    "ollama",
    "code",
    "jupyter-lab",
    "java",
    "ffmpeg",
]


def _pid(rng: random.Random) -> int:
    return rng.randrange(1500, 3_900_000)


def _ce(rng: random.Random, n: Node, t: float) -> None:
    if n.platform.cpu == "Intel":
        n.say(t, "mce: [Hardware Error]: Machine check events logged", 6)
        n.say(
            t + 0.01,
            f"EDAC MC{rng.randrange(4)}: 1 CE memory read error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0 (channel:0 slot:0 page:0x{rng.getrandbits(28):x} offset:0x{rng.getrandbits(10):x} grain:32 syndrome:0x0 -  err_code:0x0101:0x0090 )",
            4,
        )
    elif n.platform.cpu == "ARM":
        k = rng.randrange(1, 40)
        n.say(
            t,
            f"{{{k}}}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 3",
            4,
        )
        n.say(
            t,
            f"{{{k}}}[Hardware Error]: It has been corrected by h/w and requires no further action",
            4,
        )
        n.say(t, f"{{{k}}}[Hardware Error]: event severity: corrected", 4)
    else:
        n.say(t, "[Hardware Error]: Corrected error, no action required.", 4)
        n.say(
            t,
            f"[Hardware Error]: CPU:{rng.randrange(96)} (19:1:1) MC18_STATUS[Over|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|-]: 0xdc2040000000011b",
            4,
        )
        n.say(
            t,
            "EDAC MC0: 1 CE on mc#0csrow#1channel#6 (csrow:1 channel:6 page:0x0 offset:0x0 grain:64 syndrome:0x0)",
            4,
        )


def _aer(rng: random.Random, n: Node, t: float) -> None:
    bus = (
        rng.choice(n.platform.nics)[2]
        if rng.random() < 0.5
        else n.bus(rng.randrange(n.platform.per_node)) + ".0"
    )
    port = f"0000:{rng.randrange(16, 240):02x}:01.0"
    n.say(
        t,
        f"pcieport {port}: AER: Corrected error message received from {bus}"
        if n.kernel > "5.10"
        else f"pcieport {port}: AER: Multiple Corrected error received: {bus}",
        6,
    )
    n.say(
        t,
        f"nvidia {bus}: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Transmitter ID)",
        4,
    )
    n.say(t, f"nvidia {bus}:   device [{n.platform.device}] error status/mask=00001000/00002000", 4)
    n.say(t, f"nvidia {bus}:    [12] Timeout", 4)


def _segv(rng: random.Random, n: Node, t: float) -> None:
    prog = rng.choice(PROGRAMS)
    lib = rng.choice(["libc.so.6", "libpython3.10.so.1.0", "libssl.so.3", prog])
    ip = rng.getrandbits(44)
    n.say(
        t,
        f"{prog}[{_pid(rng)}]: segfault at {rng.getrandbits(16):x} ip {ip:016x} sp {rng.getrandbits(46):016x} error 4 in {lib}[{ip & ~0xFFF:x}+{rng.getrandbits(16):x}]"
        + (f" likely on CPU {rng.randrange(64)} (core 1, socket 0)" if n.kernel > "6" else ""),
        6,
    )
    n.say(
        t + 0.3,
        f"Process {_pid(rng)} ({prog}) of user 1001 dumped core.",
        2,
        "systemd-coredump[9913]",
    )


def _cgroup_oom(rng: random.Random, n: Node, t: float) -> None:
    prog, pid = rng.choice(PROGRAMS), _pid(rng)
    pod = f"{rng.getrandbits(32):08x}_{rng.getrandbits(16):04x}"
    where = rng.choice(
        [
            f"/system.slice/{prog}.service",
            f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{pod}.slice",
            f"/user.slice/user-{rng.randrange(1000, 3000)}.slice",
        ]
    )
    n.say(t, f"{prog} invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0", 4)
    n.say(t, f"memory: usage 2097152kB, limit 2097152kB, failcnt {rng.randrange(30, 9000)}", 6)
    n.say(
        t,
        f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0-1,oom_memcg={where},task_memcg={where},task={prog},pid={pid},uid=1001",
        6,
    )
    n.say(
        t,
        f"Memory cgroup out of memory: Killed process {pid} ({prog}) total-vm:{rng.randrange(10**6, 9 * 10**6)}kB, anon-rss:2088844kB, file-rss:0kB, shmem-rss:0kB, UID:1001 pgtables:4500kB oom_score_adj:0",
        3,
    )


def _veth(rng: random.Random, n: Node, t: float) -> None:
    v = f"veth{rng.getrandbits(28):07x}"
    n.say(t, f"cni0: port {rng.randrange(3, 60)}({v}) entered blocking state")
    n.say(t, f"device {v} entered promiscuous mode")
    n.say(t + 0.1, f"IPv6: ADDRCONF(NETDEV_CHANGE): {v}: link becomes ready")
    n.say(t + rng.uniform(1, 900), f"cni0: port {rng.randrange(3, 60)}({v}) entered disabled state")


def _other_job_xid(rng: random.Random, n: Node, t: float) -> None:
    g, pid = rng.randrange(n.platform.per_node), _pid(rng)
    if n.platform.vendor == "amd":
        n.say(
            t,
            f"amdgpu {n.bus(g)}.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8 pasid:{rng.randrange(32768, 32999)})",
            3,
        )
        n.say(
            t,
            f"amdgpu {n.bus(g)}.0: amdgpu:  for process {rng.choice(PROGRAMS)} pid {pid} thread {pid}",
            3,
        )
        return
    if rng.random() < 0.5:
        n.xid(
            t,
            g,
            31,
            f"Ch {rng.randrange(64):08x}, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC{rng.randrange(8)} GPCCLIENT_T1_{rng.randrange(9)} faulted @ 0x7f{rng.getrandbits(8):02x}_{rng.getrandbits(32):08x}. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
            pid,
            "python3",
        )
    else:
        n.xid(
            t,
            g,
            13,
            f"Graphics SM Warp Exception on (GPC {rng.randrange(8)}, TPC {rng.randrange(9)}, SM {rng.randrange(2)}): Out Of Range Address",
            pid,
            "ncu_target",
        )
    n.xid(t + 0.2, g, 43, f"Ch {rng.randrange(64):08x}", pid, "python3")


def _nic_cmd(rng: random.Random, n: Node, t: float) -> None:
    _, iface, bdf = n.nic(rng.randrange(8))
    if n.platform.nic_driver == "mlx5_core":
        op = rng.choice(
            [
                "QUERY_HCA_VPORT_CONTEXT(0x762)",
                "ACCESS_REG(0x805)",
                "CREATE_MKEY(0x200)",
                "QUERY_VPORT_COUNTER(0x770)",
                "MODIFY_NIC_VPORT_CONTEXT(0x755)",
            ]
        )
        n.say(
            t,
            f"mlx5_core {bdf}: mlx5_cmd_out_err:838:(pid {_pid(rng)}): {op} op_mod(0x0) failed, status {rng.choice(['bad parameter(0x3)', 'bad operation(0x2)', 'limits exceeded(0x8)', 'internal error(0x1)'])}, syndrome (0x{rng.getrandbits(24):06x}), err(-{rng.choice([5, 12, 22])})",
            3,
        )
    elif n.platform.nic_driver == "efa":
        n.say(
            t,
            f"ena 0000:00:05.0 ens5: Found a Tx that wasn't completed on time, qid {rng.randrange(8)}, index {rng.randrange(1024)}. 5010 usecs have passed since last napi execution. Missing Tx timeout value 5000 msecs",
            4,
        )
    elif n.platform.nic_driver == "gve":
        n.say(t, f"gve 0000:00:0b.0 eth0: Kicking queue {rng.randrange(16)}", 6)
    else:
        n.say(
            t,
            f"bnxt_en {bdf} {iface}: hwrm req_type 0x{rng.getrandbits(8):x} seq id 0x{rng.getrandbits(12):x} error 0x3",
            3,
        )


def _mgmt_flap(rng: random.Random, n: Node, t: float) -> None:
    n.say(t, "igb 0000:c4:00.0 eno1: igb: eno1 NIC Link is Down", 6)
    n.say(
        t + rng.uniform(2, 9),
        "igb 0000:c4:00.0 eno1: igb: eno1 NIC Link is Up 1000 Mbps Full Duplex, Flow Control: RX/TX",
        6,
    )


def _hung_other(rng: random.Random, n: Node, t: float) -> None:
    prog, pid = (
        rng.choice(["updatedb.mlocat", "find", "rsync", "tar", "fstrim", "jbd2/sda2-8"]),
        _pid(rng),
    )
    n.say(t, f"INFO: task {prog}:{pid} blocked for more than 120 seconds.", 3)
    n.say(t, f"      Tainted: P           OE     {n.kernel}", 3)
    n.say(t, '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.', 3)
    n.say(t, f"task:{prog:<15} state:D stack:    0 pid:{pid} ppid:     1 flags:0x00004000", 6)


def _nfs(rng: random.Random, n: Node, t: float) -> None:
    server = rng.choice(["nas-home01", "10.9.0.21", "isilon-software", "fs-home"])
    n.say(t, f"nfs: server {server} not responding, still trying", 5)
    n.say(t + rng.uniform(3, 70), f"nfs: server {server} OK", 5)


def _lustre(rng: random.Random, n: Node, t: float) -> None:
    n.say(
        t,
        f"Lustre: {_pid(rng)}:0:(client.c:2289:ptlrpc_expire_one_request()) @@@ Request sent has timed out for slow reply: [sent {int(t)}/real {int(t)}]  req@00000000{rng.getrandbits(32):08x} x17{rng.getrandbits(40)}/t0(0) o400->MGC10.8.1.1@o2ib@10.8.1.1@o2ib:26/25 lens 224/224 e 0 to 1 dl {int(t) + 7} ref 1 fl Rpc:XNQr/0/ffffffff rc 0/-1",
        4,
    )
    n.say(
        t + 9,
        "Lustre: MGC10.8.1.1@o2ib: Connection restored to 10.8.1.1@o2ib (at 10.8.1.1@o2ib)",
        6,
    )


def _thermal(rng: random.Random, n: Node, t: float) -> None:
    cpu = rng.randrange(112)
    n.say(
        t,
        f"mce: CPU{cpu}: Core temperature is above threshold, cpu clock is throttled (total events = {rng.randrange(1, 90)})",
        4,
    )
    n.say(t + 0.01, f"mce: CPU{cpu}: Core temperature/speed normal", 6)


def _misc(rng: random.Random, n: Node, t: float) -> None:
    text = rng.choice([
        "perf: interrupt took too long (2513 > 2500), lowering kernel.perf_event_max_sample_rate to 79500",
        "TCP: request_sock_TCP: Possible SYN flooding on port 29500. Sending cookies.  Check SNMP counters.",
        "hrtimer: interrupt took 41209 ns",
        "overlayfs: upper fs does not support tmpfile.",
        "nvidia-uvm: Unloaded the UVM driver.",
        "process 'nvidia-smi' launched '/bin/sh' with NULL argv: empty string added",
        "systemd-journald[1139]: /dev/kmsg buffer overrun, some messages lost.",
        "workqueue: drm_fb_helper_damage_work hogged CPU for >10000us 4 times, consider switching to WQ_UNBOUND",
        "sched: RT throttling activated",
        "NOHZ tick-stop error: local softirq work is pending, handler #08!!!",
        "Uhhuh. NMI received for unknown reason 3d on CPU 0.",
        "ipmi_si IPI0001:00: BMC returned incorrect response, expected netfn 7 cmd 4c, got netfn 7 cmd 24",
        "clocksource: timekeeping watchdog on CPU12: hpet wd-wd read-back delay of 110349ns",
        "FS-Cache: Duplicate cookie detected",
        "CIFS: VFS: \\\\fs01 has not responded in 180 seconds. Reconnecting...",
        "loop7: detected capacity change from 0 to 8",
        "audit: backlog limit exceeded",
        "print_req_error: I/O error, dev loop3, sector 0 flags 80700",
        "squashfs: Unknown parameter 'errors'",
        "usb 1-14: USB disconnect, device number 5",
        "NVRM: Persistence mode is deprecated and will be removed in a future release. Please use nvidia-persistenced instead.",
        "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing",
        "nvidia_p2p: disabled write-combining for peer mapping",
    ])  # fmt: skip
    n.say(t, text, 4)


def _daemon(rng: random.Random, n: Node, t: float) -> None:
    pid = _pid(rng)
    who, text = rng.choice([
        ("sshd", f"error: kex_exchange_identification: Connection closed by remote host from 10.0.{rng.randrange(255)}.{rng.randrange(255)} port {rng.randrange(30000, 60000)}"),
        ("sshd", "pam_unix(sshd:session): session closed for user svc_monitor"),
        ("sudo", "pam_unix(sudo:auth): authentication failure; logname= uid=1000 euid=0 tty=/dev/pts/0 ruser=alice rhost=  user=alice"),
        ("CRON", "(root) CMD (test -x /usr/sbin/anacron || run-parts --report /etc/cron.hourly)"),
        ("systemd", "apt-daily.service: Main process exited, code=killed, status=15/TERM"),
        ("systemd", "session-2219.scope: Deactivated successfully."),
        ("kubelet", f"E{int(t) % 1231:04d} 03:11:09.123456 {pid % 9999} pod_workers.go:1298] \"Error syncing pod, skipping\" err=\"failed to \\\"StartContainer\\\" for \\\"sidecar\\\" with CrashLoopBackOff\" pod=\"monitoring/log-shipper-x2x9k\""),
        ("kubelet", "W0101 11:24:31.001 12 manager.go:1169] Failed to process watch event {EventType:0 Name:/kubepods/burstable}: task not found"),
        ("containerd", "time=\"2025-03-02T11:00:00.000Z\" level=error msg=\"ExecSync for \\\"8f1c\\\" failed\" error=\"rpc error: code = DeadlineExceeded desc = context deadline exceeded\""),
        ("dcgm-exporter", "time=\"2025-03-02T11:00:00Z\" level=warning msg=\"Could not read DCGM_FI_DEV_VGPU_LICENSE_STATUS\""),
        ("slurmd", "error: Domain socket directory /var/spool/slurmd/d-sock: No such file or directory"),
        ("slurmd", f"launch task StepId={rng.randrange(10**5, 10**6)}.0 request from UID:{rng.randrange(1000, 9000)}"),
        ("chronyd", "System clock wrong by 0.001204 seconds"),
        ("chronyd", "Can't synchronise: no selectable sources"),
        ("smartd", "Device: /dev/nvme1n1, number of Error Log entries increased from 12 to 13"),
        ("node_exporter", "ts=2025-03-02T11:00:00.000Z caller=collector.go:169 level=error msg=\"collector failed\" name=infiniband duration_seconds=0.03 err=\"failed to read file \\\"/sys/class/infiniband/mlx5_4/ports/1/hw_counters\\\": no such file\""),
        ("python3", "WARNING gpu_probe: nvidia-smi took 9.3 s"),
        ("rasdaemon", "mc_event: 1 Corrected error: memory read error on CPU_SrcID#1_MC#0_Chan#1_DIMM#0"),
        ("fluent-bit", "[error] [output:es:es.0] HTTP status=429 URI=/_bulk, connection refused by peer"),
        ("google_guest_agent", "Error watching metadata: context canceled"),
        ("amazon-ssm-agent", "ERROR [MessageService] error when calling AWS APIs. error details - RequestError: send request failed"),
        ("waagent", "WARNING ExtHandler Extension: failed to report status: timeout"),
        ("ntpd", "kernel reports TIME_ERROR: 0x41: Clock Unsynchronized"),
    ])  # fmt: skip
    n.say(t, text, 4, f"{who}[{pid}]")


def _remap(rng: random.Random, n: Node, t: float) -> None:
    if n.platform.vendor == "amd":
        n.say(
            t,
            f"amdgpu {n.bus(rng.randrange(8))}.0: amdgpu: {rng.randrange(1, 4)} correctable hardware errors detected in total in umc block",
            4,
        )
        return
    n.xid(t, rng.randrange(n.platform.per_node), 92, "High single-bit ECC error rate", "unknown")


def _recovery_clear(rng: random.Random, n: Node, t: float) -> None:
    if n.platform.vendor == "nvidia" and n.driver >= "565":
        n.xid(
            t,
            rng.randrange(n.platform.per_node),
            154,
            "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
        )


MAKERS: tuple[tuple[Maker, float], ...] = (
    (_ce, 3), (_aer, 3), (_segv, 2), (_cgroup_oom, 2), (_veth, 6), (_other_job_xid, 1.5),
    (_nic_cmd, 4), (_mgmt_flap, 1), (_hung_other, 1), (_nfs, 1.5), (_lustre, 1), (_thermal, 2),
    (_misc, 14), (_daemon, 22), (_remap, 0.3), (_recovery_clear, 0.2),
)  # fmt: skip


def everyday(rng: random.Random, n: Node, since: float, until: float, count: int) -> None:
    """Some of what a node says on any day."""
    makers = [m for m, _ in MAKERS]
    weights = [w for _, w in MAKERS]
    for maker in rng.choices(makers, weights, k=count):
        if n.platform.storage[0] != "lustre" and maker is _lustre:
            maker = _nfs
        if n.platform.key in ("aws-p5", "gcp-a3", "azure-nd") and maker in (_ce, _aer, _thermal):
            maker = _daemon
        maker(rng, n, rng.uniform(since, until))
