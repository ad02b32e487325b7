"""Networks: a port or cable, a leaf switch, an adapter, and stalls that nothing explains."""

# ruff: noqa: E501
from benchmarks.field.endings import by_timeout
from benchmarks.field.incident import Incident
from benchmarks.field.kinds.registry import kind
from benchmarks.field.sources import switches


def votes(c: Incident, bad: int, at: float, share: float = 0.6) -> None:
    """Peers of a node report that they could not reach it, by its address or host id."""
    rng, log = c.rng, c.log
    n = c.nodes[bad]
    dev = n.nic(c.gpu)[0]
    ends: set[int] = set()
    if c.run is not None:
        for r in range(c.world):
            i = c.run.stuck(r)
            if i is None or c.node_of(r) == bad:
                continue
            group = c.mesh.groups[c.run.ops[r][i].group]
            if any(c.node_of(x) == bad for x in group.ranks):
                ends.add(r)
    for r in sorted(ends):
        if rng.random() > share:
            continue
        t = at + rng.uniform(0, 4)
        me = c.nodes[c.node_of(r)]
        if c.platform.link == "efa":
            log.nccl(
                t,
                r,
                f"NCCL WARN NET/OFI Request {rng.getrandbits(40):#x} completed with error. RC: {rng.choice([113, 107, 4123])}. Error: {rng.choice(['Unreachable remote', 'Unresponsive receiver. My EFA addr: fi_addr_efa://[fe80::8d]:0 My host id: i-0' + me.serials[0][:12] + ' Peer EFA addr: fi_addr_efa://[fe80::1f]:1 Peer host id: i-0' + n.serials[0][:12] + ' (' + n.name + ')'])}. Completed length: 0, Request: {{ dev: {c.gpu}, size: 524288, state: CREATED, type: SEND }}",
            )
        elif c.platform.link == "tcp":
            log.nccl(
                t,
                r,
                f"misc/socket.cc:{rng.randrange(40, 600)} NCCL WARN Timeout waiting for connection progress to {n.address}<{rng.randrange(30000, 60000)}>: peer {n.name} not reachable",
            )
        else:
            log.nccl(
                t,
                r,
                f"transport/net_ib.cc:{rng.choice([1320, 1476, 1909, 2108])} NCCL WARN NET/IB: Got completion from peer {n.address}<{rng.randrange(30000, 60000)}> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid fe80::{rng.getrandbits(16):x} remoteGids fe80::{rng.getrandbits(16):x} hca {dev}",
            )


def _cut(c: Incident) -> None:
    c.cut_off(c.node)
    c.begin()
    c.keep_job |= set(range(c.count))


@kind("network", "network", 5)
def link(c: Incident) -> None:
    """A port goes down or flaps: in the node's kernel, in the fabric's log only, or both."""
    rng, n, t = c.rng, c.bad, c.at
    c.avoid.add("flap")
    if c.count < 2:
        raise ValueError("a network fault needs two nodes")
    _cut(c)
    dev, iface, bdf = n.nic(c.gpu)
    efa = c.platform.link == "efa"
    only_fabric = rng.random() < 0.35 and c.platform.link in ("ib", "roce")
    up_again = rng.random() < 0.5
    flaps = rng.choice([1, 1, 2, 5])
    if not only_fabric:
        c.keep_kernel.add(c.node)
        for i in range(flaps):
            at = t + i * 7.5
            if c.platform.nic_driver == "mlx5_core" and c.platform.link == "ib":
                n.say(
                    at,
                    rng.choice(
                        [
                            f"mlx5_core {bdf} {dev}: Port: 1 Link DOWN",
                            f"mlx5_core {bdf}: Port module event[error]: module {c.gpu}, Cable error, Bus stuck (I2C or data shorted)",
                        ]
                    ),
                    4,
                )
                if up_again:
                    n.say(at + 3, f"mlx5_core {bdf} {dev}: Port: 1 Link ACTIVE", 6)
            elif c.platform.nic_driver == "mlx5_core":
                n.say(at, f"mlx5_core {bdf} {iface}: Link down", 4)
                n.say(
                    at + 0.02,
                    f"bond{c.gpu}: (slave {iface}): link status definitely down, disabling slave",
                    4,
                )
                if up_again:
                    n.say(at + 3, f"mlx5_core {bdf} {iface}: Link up", 6)
            elif c.platform.nic_driver == "bnxt_en":
                n.say(at, f"bnxt_en {bdf} {iface}: NIC Link is Down", 4)
                if up_again:
                    n.say(
                        at + 4,
                        f"bnxt_en {bdf} {iface}: NIC Link is Up, 400000 Mbps (PAM4 112Gbps) full duplex, Flow control: ON - receive & transmit",
                        6,
                    )
            elif c.platform.nic_driver == "gve":
                n.say(at, f"gve {bdf} {iface}: Device link is down.", 4)
                if up_again:
                    n.say(at + 4, f"gve {bdf} {iface}: Device link is up.", 6)
            else:
                n.say(at, f"infiniband {dev}: Port 1 link state changed: ACTIVE -> DOWN", 4)
    if only_fabric or (rng.random() < 0.3 and c.platform.link in ("ib", "roce")):
        name, text = switches.link_story(
            rng, n, c.gpu, t, f"leaf{rng.randrange(1, 30):02d}", flaps, up_again
        )
        c.files[name] = text
    if only_fabric:
        c.truth.hard.append("one source")
    if rng.random() < 0.75 or efa or only_fabric:
        votes(c, c.node, t + rng.uniform(4, 30), 1.0 if only_fabric else 0.6)
    if c.platform.link == "ib" and rng.random() < 0.3 and not only_fabric:
        log_rank = c.ranks_on(c.node)[c.gpu]
        c.log.nccl(
            t + 0.1,
            log_rank,
            f"transport/net_ib.cc:94 NCCL WARN NET/IB : {dev}:1 Got async event : port error",
        )
    by_timeout(c)
    c.say("network", ["hang", "crash"], "nic", *(["nccl_timeout"] if only_fabric else []))
    c.blame(None, cordon=False)
    c.truth.cordon_allowed = [c.node]


@kind(
    "network_leaf",
    "network",
    1.5,
    only="dgx-a100,dgx-h100,hgx-h200-cloud,gb200-nvl72,roce-fleet,mi300x",
)
def leaf(c: Incident) -> None:
    """A leaf switch goes: several nodes lose a port at the same second; no node is to blame."""
    rng, t = c.rng, c.at
    c.avoid.add("flap")
    names = [f"leaf-{chr(97 + i % 3)}{rng.randrange(1, 9)}" for i in range(3)]
    half = c.order[: max(2, c.count // 2)]
    if c.count < 4:
        half = c.order
    c.leaves = [names[0] if i in half else names[1 + i % 2] for i in range(c.count)]
    c.stuck_fabric()
    c.begin()
    rail = rng.randrange(c.platform.per_node)
    for i in half:
        n = c.nodes[i]
        c.keep_kernel.add(i)
        dev, iface, bdf = n.nic(rail)
        at = t + rng.uniform(0, 0.8)
        if c.platform.link == "ib":
            n.say(at, f"mlx5_core {bdf} {dev}: Port: 1 Link DOWN", 4)
        elif c.platform.nic_driver == "bnxt_en":
            n.say(at, f"bnxt_en {bdf} {iface}: NIC Link is Down", 4)
        else:
            n.say(at, f"mlx5_core {bdf} {iface}: Link down", 4)
    if rng.random() < 0.4:
        if c.platform.link == "ib":
            rows = switches.ufm_noise(rng, t)
            rows.append(
                (
                    t - 0.2,
                    "CRITICAL",
                    "907",
                    f"Switch: MF0;{names[0]}:MQM9700/U1",
                    f"Switch module removed or failed: Switch {names[0]} is unreachable / Node is down",
                )
            )
            c.files["ufm/event.log"] = switches.ufm(rows)
        else:
            c.files[f"switches/{names[0]}.log"] = switches.sonic(
                names[0],
                [
                    (t - 0.4, "ERR kernel: [81231.41] bcm_sdk: fatal parity error, asic reset"),
                    (t, "NOTICE swss#orchagent: :- doTask: switch shutdown request received"),
                ],
            )
    by_timeout(c)
    c.say("network", ["hang", "crash"])
    c.truth.alternates = list(half)
    c.truth.notes.append("leaf switch, nobody to cordon")


@kind(
    "nic",
    "nic",
    3,
    only="dgx-a100,dgx-h100,hgx-h200-cloud,gb200-nvl72,azure-nd,roce-fleet,aws-p5,mi300x",
)
def nic(c: Incident) -> None:
    """The adapter's firmware or driver dies: kernel, or only what peers and a probe say."""
    rng, n, t = c.rng, c.bad, c.at
    c.avoid.add("flap")
    _cut(c)
    c.keep_kernel.add(c.node)
    dev, iface, bdf = n.nic(c.gpu)
    if c.platform.nic_driver == "mlx5_core":
        pick = rng.choice(["health", "cmd", "tx", "fatal"])
        if pick == "health":
            n.say(
                t,
                f"mlx5_core {bdf}: poll_health:{rng.randrange(800, 990)}:(pid 0): device's health compromised - reached miss count",
                3,
            )
            n.say(
                t + 0.01,
                f"mlx5_core {bdf}: print_health_info:{rng.randrange(400, 520)}:(pid 0): Health issue observed, {rng.choice(['firmware internal error', 'unrecoverable hardware error'])}, severity(3) ERROR:",
                3,
            )
            n.say(
                t + 0.02,
                f"mlx5_core {bdf}: print_health_info:431:(pid 0): synd 0x1: firmware internal error",
                3,
            )
        elif pick == "cmd":
            for i in range(rng.randrange(1, 4)):
                n.say(
                    t + i * 60,
                    f"mlx5_core {bdf}: wait_func:{rng.randrange(1100, 1180)}:(pid {rng.choice(n.pids)}): {rng.choice(['MODIFY_QP', 'QUERY_QP', 'CREATE_CQ'])}(0x500) timeout. Will cause a leak of a command resource",
                    3,
                )
        elif pick == "tx":
            n.say(
                t,
                f"NETDEV WATCHDOG: {iface} (mlx5_core): transmit queue {rng.randrange(60)} timed out"
                if n.kernel < "6.6"
                else f"mlx5_core {bdf} {iface}: NETDEV WATCHDOG: CPU: 12: transmit queue 7 timed out 15360 ms",
                4,
            )
            n.say(t + 0.1, f"mlx5_core {bdf} {iface}: TX timeout detected", 3)
            n.say(
                t + 4,
                f"mlx5_core {bdf} {iface}: TX timeout on queue: 7, SQ: 0x1{rng.getrandbits(12):03x}, CQ: 0x4{rng.getrandbits(8):02x}, SQ Cons: 0x{rng.getrandbits(12):x} SQ Prod: 0x{rng.getrandbits(12):x}, usecs since last trans: 22451000",
                3,
            )
        else:
            n.say(
                t,
                f"mlx5_core {bdf}: mlx5_crdump_collect:50:(pid 2112): crdump: failed to lock vsc gw err -110",
                4,
            )
            n.say(
                t + 0.3,
                f"mlx5_core {bdf}: mlx5_fw_fatal_reporter_err_work:679:(pid 2112): fatal error: 1 detected",
                3,
            )
            n.say(
                t + 60,
                f"mlx5_core {bdf}: mlx5_load_one_devl_locked:1458:(pid 2112): Failed to wait for FW, err -110",
                3,
            )
        if rng.random() < 0.4:
            c.log.nccl(
                t + 1,
                c.ranks_on(c.node)[c.gpu],
                f"transport/net_ib.cc:86 NCCL WARN NET/IB : {dev}:1 Got async event : local catastrophic error",
            )
    elif c.platform.nic_driver == "efa":
        n.say(t, f"efa {bdf}: Wait for completion (polling) timeout", 3)
        n.say(
            t + 0.5,
            f"infiniband {dev}: Failed to process command MODIFY_QP (opcode 2) comp_status 7 err -5"
            if rng.random() < 0.5
            else f"efa {bdf}: Keep alive watchdog timeout.",
            3,
        )
        n.say(
            t + 1,
            f"efa {bdf}: Reset reason 2: device is being reset, admin queue is no longer running",
            3,
        )
    else:
        n.say(
            t,
            f"bnxt_en {bdf} {iface}: Firmware fatal error reported, fw_health status 0x8{rng.getrandbits(12):03x}",
            3,
        )
        n.say(
            t + 2,
            f"bnxt_en {bdf} {iface}: Error (timeout: 500015) msg {{0x{rng.getrandbits(8):x} 0x{rng.getrandbits(12):x}}} len:0",
            3,
        )
        n.say(t + 5, f"bnxt_en {bdf} {iface}: Firmware not responding, status: 0xffffffff", 3)
    if rng.random() < 0.7:
        votes(c, c.node, t + rng.uniform(4, 25))
    by_timeout(c)
    c.say("nic", ["hang", "crash"])
    c.blame(None, cordon=True)
    c.truth.cordon_allowed = [c.node]


@kind("nccl_timeout", "nccl_timeout", 3)
def unexplained(c: Incident) -> None:
    """All entered, nothing that crosses nodes ends, and nothing anywhere says why."""
    c.stuck_fabric()
    c.begin()
    c.has_dumps = True if c.rng.random() < 0.85 else c.has_dumps
    by_timeout(c, share=1.0)
    c.stale = True
    c.avoid.add("flap")
    c.say("nccl_timeout", ["hang", "inconclusive"])
    c.truth.notes.append("all entered, none ended, no trace elsewhere")


@kind("fabric_stall", "nccl_timeout", 2)
def fabric_stall(c: Incident) -> None:
    """As before, with old flaps, congestion counters and retries about that explain nothing."""
    rng = c.rng
    c.stuck_fabric()
    c.begin()
    for _ in range(rng.randrange(1, 3)):
        n = c.nodes[c.others(1)[0] if c.count > 1 else 0]
        dev, iface, bdf = n.nic(rng.randrange(8))
        old = max(n.boot + 800, c.at - rng.uniform(7200, 200000))
        down = {
            "mlx5_core": f"mlx5_core {bdf} {dev}: Port: 1 Link DOWN",
            "bnxt_en": f"bnxt_en {bdf} {iface}: NIC Link is Down",
            "gve": f"gve {bdf} {iface}: Device link is down.",
            "efa": "ena 0000:00:05.0 ens5: Tx timeout",
        }[c.platform.nic_driver]
        n.say(old, down, 4)
        if c.platform.nic_driver != "efa":
            n.say(
                old + rng.uniform(2, 30),
                down.replace("DOWN", "ACTIVE").replace("Down", "Up").replace("down", "up"),
                6,
            )
    if c.platform.link == "ib" and rng.random() < 0.6:
        c.files["ufm/event.log"] = switches.ufm(switches.ufm_noise(rng, c.at))
    by_timeout(c, share=1.0)
    c.say("nccl_timeout", ["hang", "inconclusive"], "network")
    c.truth.notes.append("fabric stall without a dated sign")
