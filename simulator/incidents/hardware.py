"""Scenarios whose cause is a part of a node: GPU, board, card, disk, memory, power."""

from simulator.incidents import driver_lines as driver
from simulator.incidents import host_lines as host
from simulator.incidents.job_voice import traceback
from simulator.incidents.story import Story, Voice


def _cuda_dies(story: Story, text: str = "", *, chance: float = 0.7, root: bool = False) -> None:
    """The culprit's program notices that its GPU is gone."""
    if story.chance.random() > chance:
        return
    error = text or story.pick(
        "RuntimeError: CUDA error: unspecified launch failure",
        "RuntimeError: CUDA error: unknown error",
        "torch.AcceleratorError: CUDA error: the launch timed out and was terminated",
    )
    traceback(
        story,
        0.8,
        story.culprit,
        error,
        "CUDA kernel errors might be asynchronously reported at some other API call, so the "
        "stacktrace below might be incorrect.",
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
        root=root,
    )


def gpu_fell_off(story: Story) -> None:
    """A GPU falls off the bus (Xid 79)."""
    driver.fell_off(story)
    _cuda_dies(story)


def gpu_bus_quiet(story: Story) -> None:
    """A GPU falls off the bus and no Xid says so."""
    driver.fell_off(story, numbered=False)
    _cuda_dies(story, "RuntimeError: No CUDA GPUs are available")


def gpu_mmu(story: Story) -> None:
    """An engine of the GPU is wedged: controller errors, then context timeouts."""
    words = f"{story.hexa(4)} {story.hexa()} {story.hexa()} 00000000 {story.hexa()} {story.hexa()}"
    code, text = story.chance.choice(
        (
            (62, words),
            (61, f"{story.hexa(4)}({story.hexa(4)}) 00000000 00000000"),
            (110, "SEC_FAULT: FIELD_TIMEOUT"),
        )
    )
    story.log_kernel(0.0, driver.xid(story, code, text), root=True)
    driver.recovery(story, 0.2)
    driver.channel_errors(story, 1.0, story.culprit, parent=code)
    if story.chance.random() < 0.5:
        line = f"Ch {story.hexa()}, errorString CTX SWITCH TIMEOUT, Info 0x{story.hexa(5)}"
        story.log_kernel(4.0, driver.xid(story, 109, line, rank=story.culprit))
    _cuda_dies(story)


def gpu_init(story: Story) -> None:
    """A GPU cannot be brought up again."""
    story.log_kernel(
        0.0,
        f"NVRM: GPU {story.bus}.0: RmInitAdapter failed! (0x{story.hexa(2)}:0x{story.hexa(2)}:"
        f"{story.chance.randrange(900, 2600)})",
        f"NVRM: GPU {story.bus}.0: rm_init_adapter failed, device minor number "
        f"{story.world.local(story.culprit)}",
        root=True,
    )
    text = "RuntimeError: CUDA driver initialization failed, you might not have a CUDA gpu."
    traceback(story, 0.5, story.culprit, text, root=False)
    story.accepted += ["io_board"]


def gpu_silent(story: Story) -> None:
    """One GPU stops and nothing is logged anywhere: only the dumps tell."""
    story.accepted += ["nccl_timeout"]


def hbm_dbe(story: Story) -> None:
    """A double-bit error in memory, with its five companions."""
    driver.dbe(story)
    _cuda_dies(story, "RuntimeError: CUDA error: uncorrectable ECC error encountered", chance=0.6)


def hbm_uncontained(story: Story) -> None:
    """An uncorrectable memory error, contained or not, without Xid 48."""
    driver.uncontained(story, story.chance.choice((94, 95)))
    _cuda_dies(story, "RuntimeError: CUDA error: uncorrectable ECC error encountered", chance=0.6)


def hbm_remap(story: Story) -> None:
    """The row remapper has no spare left."""
    driver.remap_failure(story)
    _cuda_dies(story, "RuntimeError: CUDA error: uncorrectable ECC error encountered", chance=0.5)


def hbm_job_only(story: Story) -> None:
    """The job sees the ECC error; the kernel log of the node is lost."""
    _cuda_dies(
        story, "RuntimeError: CUDA error: uncorrectable ECC error encountered", chance=1, root=True
    )
    story.lost_kernel_logs.add(story.node.index)
    story.accepted += ["gpu_sram"]


def sram_bad(story: Story) -> None:
    """An uncorrectable error in a cache or a register file."""
    driver.sram(story)
    _cuda_dies(story, "RuntimeError: CUDA error: uncorrectable ECC error encountered", chance=0.5)


def gsp_waits(story: Story) -> None:
    """The GPU system processor answers no more (Xid 119)."""
    driver.gsp_timeout(story)


def gsp_dies(story: Story) -> None:
    """The GPU system processor's program dies (Xid 120, heartbeat)."""
    driver.gsp_exception(story)
    _cuda_dies(story, chance=0.4)


def hot_gpu(story: Story) -> None:
    """A GPU overheats; the kernel log says little, a health print in the job's log more."""
    way, gpu = story.chance.randrange(3), story.world.local(story.culprit)
    if way == 0:
        story.log_rank(
            -20.0,
            story.culprit,
            "    Clocks Event Reasons",
            "        Idle                              : Not Active",
            "        SW Power Cap                      : Not Active",
            "        HW Slowdown                       : Active",
            "            HW Thermal Slowdown           : Active",
            "            HW Power Brake Slowdown       : Not Active",
            "    GPU Current Temp                      : 93 C",
            root=True,
        )
    elif way == 1:
        text = (
            f"[gpu-health] [CRITICAL] GPU {gpu}: DCGM_FR_TEMP_VIOLATION "
            f"Detected thermal violation, temperature {story.chance.randrange(90, 101)} C "
            "exceeds slowdown threshold"
        )
        story.log_rank(-9.0, story.culprit, text, root=True)
    else:
        switch = story.chance.randrange(4)
        text = (
            f"nvidia-nvswitch{switch}: SXid (PCI:0000:{switch + 5:02x}:00.0): 10004, "
            "Non-fatal, Temperature 101C Threshold 95C thermal event start"
        )
        story.log_kernel(-3.0, text, root=True)
        text = (
            f"nvidia-nvswitch{switch}: SXid (PCI:0000:{switch + 5:02x}:00.0): 10006, "
            "Fatal, thermal shutdown"
        )
        story.log_kernel(-1.0, text, root=True)
        story.accepted += ["nvlink"]
    if way < 2 and story.chance.random() < 0.5:
        driver.fell_off(story, 0.0, root=False)
        story.accepted += ["gpu"]


def nvlink_dead(story: Story) -> None:
    """A link of a GPU dies."""
    way = story.chance.random()
    # Links of the fifth generation came with driver 570.
    if way < 0.5 or (way < 0.85 and story.world.driver < 570):
        driver.nvlink_fatal(story)
    elif way < 0.85:
        driver.nvlink_five(story)
    else:
        code = story.chance.choice((19084, 24007, 12020))
        text = story.pick("AN1 Heartbeat Timeout Error", "sourcetrack TCEN0 crumbstore timeout")
        driver.switch_error(story, 0.0, code, text, root=True)
        driver.channel_errors(story, 0.8, story.culprit, parent=0)
    text = "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution"
    _cuda_dies(story, text, chance=0.5)


def nvlink_job(story: Story) -> None:
    """Only the job's log says that a link failed."""
    text = "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution"
    _cuda_dies(story, text, chance=1, root=True)
    story.accepted += ["gpu"]


def sdc_rerun(story: Story) -> None:
    """A rerun on the same GPU gives another result: silent data corruption."""
    rank, node = story.culprit, story.node
    step, dev = story.iteration, story.world.local(rank)
    value = f"{story.chance.uniform(1, 9):.9f}"
    log = "ERROR:megatron.core.rerun_state_machine:"
    story.log_rank(
        0.0,
        rank,
        f"{log}Unexpected result {value} on rank {rank} at iteration #{step} invocation #1 "
        "(message='Spiky loss')",
        f"{log}Rank {rank}, node {node.fqdn}, device {dev}, iteration #{step}: First rerun: "
        f"unexpected result is not reproducible within the tolerance ({value} = 2.104433059)",
        f"{log}Possible transient error!",
        root=True,
    )
    story.accepted += ["numerical"]


def sdc_grad(story: Story) -> None:
    """One rank alone meets a NaN before the reduction; another GPU gives a number."""
    rank = story.culprit
    step, dev = story.iteration, story.world.local(rank)
    log = "ERROR:megatron.core.rerun_state_machine:"
    story.log_rank(
        0.0,
        rank,
        f"{log}Unexpected result nan on rank {rank} at iteration #{step} invocation #2 "
        "(message='found NaN in local grad norm for bucket #0 in backward pass before "
        "data-parallel communication collective')",
        f"{log}Rank {rank}, node {story.node.fqdn}, device {dev}, iteration #{step}: Second rerun: "
        "result is different on a different GPU (nan != 0.4213), persistent error: suspect "
        "hardware fault on this device",
        root=True,
    )
    story.accepted += ["numerical"]


def nic_firmware(story: Story) -> None:
    """A network card's firmware dies."""
    host.nic_health(story)
    _nccl_async(story, chance=0.6)


def nic_port(story: Story) -> None:
    """A network card's queues stop, or its verbs device is gone."""
    if story.chance.random() < 0.6:
        host.nic_timeout(story)
        _nccl_async(story, chance=0.4)
    else:
        _nccl_async(story, chance=1.0, root=True)


def _nccl_async(story: Story, *, chance: float, root: bool = False) -> None:
    """NCCL hears of the dead card."""
    if story.chance.random() < chance:
        line = story.chance.randrange(60, 1400)
        story.log_rank(
            1.0,
            story.culprit,
            f"transport/net_ib.cc:{line} NCCL WARN NET/IB : Got async event : "
            + story.pick(
                "local catastrophic error",
                f"mlx5_{story.world.local(story.culprit)} : device fatal error",
            ),
            f"misc/ibvwrap.cc:{line} NCCL WARN Call to ibv_modify_qp failed with error No such "
            "device",
            voice=Voice.NCCL,
            severity="W",
            root=root,
        )
    _retry_errors(story, most=3)


def _retry_errors(story: Story, most: int, *, root: bool = False) -> None:
    """Others cannot reach the culprit's card."""
    others = [r for r in range(story.world.ranks) if story.world.node_of(r) is not story.node]
    for rank in story.chance.sample(others, min(most, len(others))):
        story.log_rank(
            story.chance.uniform(8, 25),
            rank,
            "transport/net_ib.cc:"
            f"{story.chance.randrange(900, 1900)} NCCL WARN NET/IB : Got completion from peer "
            f"{story.node.ip}<{story.chance.randrange(30_000, 60_000)}> with status=12 "
            f"opcode=0 len=0 vendor err 129 ({story.pick('Send', 'Recv')})"
            f"{story.pick('', f' localGid ::ffff:{story.world.node_of(rank).ip} remoteGids::ffff:{story.node.ip}')}",  # noqa: E501
            voice=Voice.NCCL,
            severity="W",
            root=root,
        )


def shared(story: Story) -> None:
    """No node is guilty."""
    story.culprit_nodes, story.culprit_ranks, story.gpus = [], [], []


def network_leaf(story: Story) -> None:
    """All nodes behind one leaf switch lose their links."""
    behind = [node for node in story.world.nodes if node.leaf == story.node.leaf]
    for node in behind:
        for turn in range(story.chance.randrange(1, 4)):
            host.link_down(
                story,
                story.chance.uniform(0, 1.5) + 9 * turn,
                node,
                back_s=story.chance.uniform(2, 7),
            )
    story.affected = [node.index for node in behind]
    shared(story)
    _retry_errors(story, most=4)


def network_flap(story: Story) -> None:
    """One link flaps again and again: cable or port of one node."""
    for turn in range(story.chance.randrange(3, 9)):
        host.link_down(story, 11.0 * turn, story.node, back_s=story.chance.uniform(1, 8))
    _retry_errors(story, most=4)
    story.culprit_ranks = []  # which of the node's ranks used the link, nothing says
    story.accepted += ["nic"]


def network_pair(story: Story) -> None:
    """Only NCCL's retries tell: several peers cannot reach one node."""
    _retry_errors(story, most=8, root=True)
    story.culprit_ranks = []
    story.accepted += ["nic"]


def ssd_dead(story: Story) -> None:
    """A local disk dies and the file system goes read-only."""
    host.disk_fails(story)
    traceback(
        story,
        64.0,
        story.culprit,
        story.pick(
            "OSError: [Errno 5] Input/output error: '/scratch/cache/shard_00412.bin'",
            "OSError: [Errno 30] Read-only file system: '/local/nvme/ckpt/rank.tmp'",
        ),
        root=False,
    )
    story.accepted += ["storage"] if not story.kernel.get(story.node.index) else []


def power_lost(story: Story) -> None:
    """A power supply fails: several GPUs at once, or the whole node."""
    event = story.chance.randrange(1, 900)
    lines = [
        f"ipmi_si: SEL {event:x} | Power Supply #0x{story.hexa(2)} | Failure detected | Asserted",
        "power_meter ACPI000D:00: Power supply 2 lost AC input",
        f"[gpu-health] SEL event: Power Supply PSU{story.chance.randrange(1, 7)} | Power Supply AC "
        "lost | Asserted",
    ]
    told = story.chance.randrange(3)
    if told < 2:
        story.log_kernel(-0.4, story.chance.choice(lines), level=2, root=True)
    if told > 0:
        story.log_board(-0.4, "power", story.chance.randrange(1, 7))
    for place, rank in enumerate(story.world.ranks_on(story.node)):
        driver.fell_off(story, 0.02 * place, bus=story.world.bus_of(rank), root=False)
    _node_dies(story)


def _node_dies(story: Story) -> None:
    """Nothing more comes from the node: no dumps, no lines."""
    mates = story.world.ranks_on(story.node)
    story.without_dump |= set(mates)
    story.silent_ranks |= set(mates)
    story.silent_nodes.add(story.node.index)
    story.culprit_ranks = mates


def chassis_down(story: Story) -> None:
    """All GPUs of a node are gone at once: backplane or fans."""
    if story.chance.random() < 0.4:
        story.log_board(-2.0, "fan", story.chance.randrange(1, 9))
    story.log_kernel(
        -0.2,
        story.pick(
            "ipmi_si: SEL 1c2 | Fan #0x41 | Lower Critical going low | Asserted; system chassis"
            " fan failure",
            "ipmi_si: SEL 0a1 | Cable/Interconnect #0xd3 | Config Error | GPU baseboard backplane",
            "pcieport 0000:15:01.0: pciehp: Slot(3): Backplane power fault",
        ),
        level=2,
        root=True,
    )
    for place, rank in enumerate(story.world.ranks_on(story.node)):
        driver.fell_off(story, 0.01 * place, bus=story.world.bus_of(rank))
    story.accepted += ["power", "io_board"]
    _node_dies(story)


def io_aer(story: Story) -> None:
    """A fatal PCIe error on the GPU's port comes before the GPU is gone."""
    host.aer_fatal(story, -story.chance.uniform(0.05, 0.4))
    driver.fell_off(story, root=False)
    _cuda_dies(story, chance=0.5)


def io_dpc(story: Story) -> None:
    """The PCIe port takes the link down."""
    host.dpc(story, -0.2)
    if story.chance.random() < 0.6:
        host.slot_power(story, -60.0)
    driver.fell_off(story, root=False)
    story.accepted += ["chassis"]


def cpu_check(story: Story) -> None:
    """A fatal machine check takes the node."""
    host.machine_check(story)
    _node_dies(story)


def memory_bad(story: Story) -> None:
    """A memory module has an error that cannot be corrected; a rank is killed."""
    if story.chance.random() < 0.6:
        host.edac_storm(story, -900.0, corrected=True)
    host.memory_poison(story)
