"""What healthy nodes print in use and under maintenance, in words that alarm: known, and noise.

Containers that come and go, guards that refuse what they should refuse, counters that
take too long, users that log in, disks on a stick. None of it stops a job.
"""

from triage.domain.category import Category
from triage.domain.evidence import Kind, Trait
from triage.signatures.family import Family
from triage.signatures.signature import Scope

__all__ = ["SIGNATURES"]


DAILY = Family(
    "chatter", Kind.KERNEL, category=Category.NONE, scope=Scope.ANY, as_one=True, quiet=True
)

DAILY.noise(
    "audit",
    r"\baudit: type=(?!1701)1[0-9]{3}\b|\btype=(?!1701|ANOM_ABEND)[A-Z_]{3,20} (?:msg=)?audit\("
    r"|\btype=(?!1701)1\d{3} audit\(|\bavc: {1,2}(?:denied|granted)|SELinux is preventing",
    literals=(
        "audit: type=",
        "audit(",
        "avc:  ",
        "avc: ",
        "selinux is preventing",
        "setroubleshoot",
    ),
    matches=(
        'audit: type=1400 audit(1790000000.100:9): apparmor="DENIED" operation="capable"'
        ' profile="/usr/sbin/cupsd" pid=957 comm="cupsd"',
        "type=AVC msg=audit(1790000000.100:9): avc:  denied  { read } for  pid=1 comm=x",
        "audit: type=1131 audit(1790000000.100:99): pid=1 uid=0 msg='unit=systemd-rfkill'",
    ),
    near_misses=(
        'audit: type=1701 audit(1790000000.100:9): pid=88123 comm="rank3" sig=6 res=1',
        "the audit(2026) failed",
    ),
    source="Linux: kernel/audit, AppArmor, SELinux",
)
DAILY.noise(
    "container_network",
    r"\bentered (?:disabled|blocking|forwarding|learning|listening) state"
    r"|(?:entered|left) (?:promiscuous|allmulticast) mode",
    literals=(
        "entered disabled state",
        "entered blocking state",
        "entered forwarding state",
        "entered promiscuous mode",
        "left promiscuous mode",
        "entered allmulticast mode",
        "left allmulticast mode",
        "entered learning state",
        "entered listening state",
    ),
    matches=(
        "docker0: port 1(veth8215799) entered disabled state",
        "cni0: port 12(veth9f) entered blocking state",
        "device veth8215799 left promiscuous mode",
    ),
    near_misses=("the actor entered a failed state",),
    source="Linux: net/bridge, net/core",
    kind=Kind.LINK,
)
DAILY.noise(
    "container_storage",
    r"\boverlayfs: (?!.{0,80}(?:I/O error|failed to write))",
    literals=(
        "upper fs does not support",
        "overlayfs: ",
        "upper fs missing",
        "fs cache: ",
        "falling back to xino=off",
    ),
    matches=(
        "overlayfs: upper fs does not support RENAME_WHITEOUT.",
        "overlayfs: idmapped layers are currently not supported",
    ),
    near_misses=("overlayfs: failed to write superblock: I/O error",),
    source="Linux: fs/overlayfs",
    kind=Kind.STORAGE,
)
DAILY.noise(
    "network_guard",
    r"Possible SYN flooding|\bmartian (?:source|destination)|\bll header: \w{8}"
    r"|\[UFW (?:BLOCK|AUDIT|ALLOW|LIMIT)[^\]\n]{0,20}\]|\bIN=\S{0,20} OUT=\S{0,20} (?:MAC=|SRC=)"
    r"|nf_conntrack: default automatic helper|Sending cookies",
    literals=(
        "possible syn flooding",
        "martian source",
        "martian destination",
        "ll header: ",
        "[ufw block]",
        "[ufw audit]",
        "[ufw allow]",
        "_reject: in=",
        "iptables denied",
        "final_reject",
        "syn cookies",
        "neighbour: ",
        "neighbor table overflow",
        "nf_conntrack: default automatic helper",
        "sending cookies",
        "dropping request",
        "treason uncloaked",
        "icmpv6_send",
    ),
    matches=(
        "TCP: request_sock_TCP: Possible SYN flooding on port 29500. Sending cookies.  Check SNMP"
        " counters.",
        "IPv4: martian source 10.2.0.7 from 10.4.0.9, on dev eno1",
        "[UFW BLOCK] IN=eno1 OUT= MAC=01:00:5e:00:00:01 SRC=0.0.0.0 DST=224.0.0.1 LEN=32",
    ),
    near_misses=("nf_conntrack: table full, dropping packet", "a martian landed"),
    source="Linux: net/ipv4, netfilter",
    kind=Kind.LINK,
)
DAILY.noise(
    "took_too_long",
    r"perf: interrupt took too long|hrtimer: interrupt took \d|hogged CPU for >\d"
    r"|RT throttling activated|\bclocksource: (?!.{0,60}Marking)(?:timekeeping watchdog|Long"
    r" readout|wd-|Switched to|Checking clocksource| )"
    r"|NOHZ(?: tick-stop error|: local_softirq_pending)",
    literals=(
        "interrupt took too long",
        "hrtimer: interrupt took",
        "hogged cpu for",
        "rt throttling activated",
        "delay: estimated",
        "clocksource: timekeeping watchdog",
        "clocksource-wd",
        "clock was stepped",
        "clocksource watchdog",
        "checking clocksource",
        "long readout interval",
        "wd-tsc-wd",
        "clocksource: switched to",
        "wrong clock",
    ),
    matches=(
        "perf: interrupt took too long (2513 > 2500), lowering kernel.perf_event_max_sample_rate"
        " to 79500",
        "hrtimer: interrupt took 40211 ns",
        "workqueue: ib_cache_event_task [ib_core] hogged CPU for >10000us 8 times, consider"
        " switching to WQ_UNBOUND",
        "sched: RT throttling activated",
        "clocksource: timekeeping watchdog on CPU12: wd-tsc-wd read-back delay of 98412ns",
    ),
    near_misses=("watchdog: BUG: soft lockup - CPU#3 stuck for 23s! [python3:88123]",),
    source="Linux: kernel/events, kernel/time, kernel/workqueue",
    kind=Kind.CPU,
)
DAILY.noise(
    "usb",
    r"\busb (?:usb)?\d{1,3}(?:-[\d.]{1,16})?(?:-port\d{1,3})?: |\bxhci_hcd [0-9a-f:.]{7,12}: WARN"
    r"|\bhub \d{1,3}-[\d.:]{1,12}: |root hub lost power or was reset",
    literals=(
        "new high-speed usb device",
        "new full-speed usb device",
        "new superspeed",
        "usb disconnect, device number",
        "root hub lost power",
        "reset high-speed usb",
        "reset full-speed usb",
        "reset superspeed",
        "device descriptor read/",
        "device not accepting address",
        "unable to enumerate usb device",
        "over-current condition",
        "over-current change",
        "set tr deq ptr cmd failed",
        "usb_set_interface failed",
        "device firmware changed",
    ),
    matches=(
        "usb 1-14.1: reset high-speed USB device number 4 using xhci_hcd",
        "usb usb1: root hub lost power or was reset",
        "usb 1-3: device descriptor read/64, error -71",
        "xhci_hcd 0000:02:00.0: WARN Set TR Deq Ptr cmd failed due to incorrect slot or ep state.",
    ),
    near_misses=("app: usb disconnect, device number 3",),
    source="Linux: drivers/usb",
)
DAILY.noise(
    "sessions",
    r"systemd\[\d{1,9}\]: (?:Started Session|Starting User Manager|Removed slice|Created slice"
    r"|Queued start job|Installed transient|\S{1,120}: Deactivated successfully)"
    r"|systemd-logind\[\d{1,9}\]: (?:New session|Removed session|Session \S{1,8} logged out)"
    r"|pam_\w{2,20}\([^)\n]{1,60}\): session (?:opened|closed) for user"
    r"|systemd-journald\[\d{1,9}\]: (?:Data hash table of|Received client request|Time spent on"
    r"|Field hash table of)",
    literals=(
        " of user ",
        "new session ",
        "session closed for user",
        "session opened for user",
        "removed session",
        "deactivated successfully",
        "queued start job for default",
        "scheduled restart job",
        "fill level at",
        "suggesting rotation",
        "received client request to",
        "time spent on flushing",
        "data hash table of",
        "installed transient",
    ),
    matches=(
        "systemd[1]: Started Session 4411 of User root.",
        "systemd-logind[1203]: Removed session 77.",
        "sshd[881]: pam_unix(sshd:session): session closed for user ops",
        "systemd-journald[812]: Data hash table of /run/log/journal/system.journal has a fill level"
        " at 75.0, suggesting rotation.",
    ),
    near_misses=("systemd[1]: slurmd.service: Failed with result 'exit-code'.",),
    source="systemd, logind, journald, pam",
)
DAILY.noise(
    "deprecated",
    r"Loading kernel module for a network device with CAP_SYS_MODULE|launched '[^'\n]{1,60}' with"
    r" NULL argv|the capability attribute has been deprecated|uses wireless extensions"
    r"|block \w{2,12}: the capability attribute",
    literals=(
        "is deprecated",
        "has been deprecated",
        "(deprecated)",
        "with null argv",
        "uses wireless extensions",
        "legacy api",
        "bpf-prog",
        "cap_sys_module",
    ),
    matches=(
        "Loading kernel module for a network device with CAP_SYS_MODULE (deprecated).  Use"
        " CAP_NET_ADMIN and alias netdev-overlay instead.",
        "process 'runc' launched '/dev/fd/7' with NULL argv: empty string added",
    ),
    near_misses=("UserWarning: torch.foo is deprecated",),
    source="Linux: net/core, fs/exec, block",
)
DAILY.noise(
    "filesystem_mounts",
    r"NFS: Registering the id_resolver|Installing knfsd|Key type (?:id_resolver|dns_resolver)"
    r"|LNet: (?:Added LNI|Accept)|Lustre: (?:Mounted|Unmounted|Lustre: Build Version)"
    r"|\bfuse: init",
    literals=(
        "nfs: registering the id_resolver",
        "installing knfsd",
        "nfs4: state manager",
        "key type id_resolver",
        "lnet: added lni",
        "lnet: accept",
        "lustre: mounted",
        "lustre: unmounted",
        "lustre: lustre: build version",
        "fscache: ",
        "cachefiles: ",
        "fuse: init",
    ),
    matches=(
        "NFS: Registering the id_resolver key type",
        "LNet: Added LNI 10.9.9.7@o2ib [8/256/0/180]",
    ),
    near_misses=("Lustre: work-OST0007: Connection to work-OST0007 (at 10.9.9.7@o2ib1) was lost",),
    source="Linux: fs/nfs, Lustre",
    kind=Kind.STORAGE,
)
DAILY.noise(
    "kernel_notes",
    r"OOM killer (?:dis|en)abled\.|\"echo 0 > /proc/sys/kernel/hung_task_timeout_secs\" disables"
    r"|fork rejected by pids controller|Code: (?:Unable to access opcode bytes|Bad RIP value)"
    r"|\bdrop_caches: \d|sysrq: (?:HELP|Show|Changing|Emergency Sync|This sysrq)"
    r"|rfkill: input handler",
    literals=(
        "oom killer disabled",
        "oom killer enabled",
        "please see the man page",
        "echo 0 > /proc/sys/kernel/hung_task",
        "fork rejected by pids controller",
        "callbacks suppressed",
        "code: unable to access opcode bytes",
        "code: bad rip value",
        "drop_caches: ",
        "sysrq: ",
        "rfkill: input handler",
        "changed the regulatory",
        "device-mapper: core: ",
        'cgroup: "memory" requires',
    ),
    matches=(
        "OOM killer disabled.",
        '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
        "cgroup: fork rejected by pids controller in /system.slice/run-u9.scope",
        "bash (4411): drop_caches: 3",
        "Code: Unable to access opcode bytes at RIP 0x7f4f8cd10215.",
    ),
    near_misses=(
        "sysrq: Trigger a crash",
        "INFO: task python3:88123 blocked for more than 122 seconds.",
    ),
    source="Linux: mm, kernel/hung_task, kernel/cgroup, drivers/tty/sysrq",
)
DAILY.noise(
    "release_of_memory",
    r"\b(?:ib_umem_release|ib_umem_odp|peer_?mem\w{0,16}|ib_(?:un)?register_peer_memory_client)\b"
    r"[^\n]{0,60}",
    literals=("ib_umem", "peer_mem", "memory registration", "ib_unregister_peer"),
    matches=("ib_umem_release: peer memory client nv_mem put 512 pages",),
    near_misses=(
        "nvidia-peermem nv_get_p2p_free_callback:131 ERROR detected invalid context, skipping",
    ),
    source="RDMA core, nvidia-peermem",
    traits=(Trait.TEARDOWN,),
)

SIGNATURES = DAILY.signatures()
