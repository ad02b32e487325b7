"""Faults of code: a user's error, or a library's."""

# ruff: noqa: E501
from benchmarks.field.endings import aftermath, by_crash, cuda_error, traceback
from benchmarks.field.incident import Incident
from benchmarks.field.kinds.gpu import lose_dumps
from benchmarks.field.kinds.registry import kind

USER = (
    "KeyError: 'attention_mask'",
    "ValueError: Expected input batch_size (16384) to match target batch_size (8192).",
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/tokens/train_0412.idx'",
    "AssertionError: global batch size (510) is not divisible by micro batch size (4) times data parallel size (16)",
    "TypeError: forward() got an unexpected keyword argument 'position_ids'",
    "AttributeError: 'NoneType' object has no attribute 'shape'",
    "json.decoder.JSONDecodeError: Expecting ',' delimiter: line 1 column 40177 (char 40176)",
    "IndexError: list index out of range",
    "RuntimeError: The size of tensor a (4096) must match the size of tensor b (4097) at non-singleton dimension 1",
    "omegaconf.errors.ConfigAttributeError: Key 'lr_warmup' is not in struct",
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for TrainConfig",
    "UnicodeDecodeError: 'utf-8' codec can't decode byte 0x8b in position 1: invalid start byte",
    "ZeroDivisionError: float division by zero",
    "pyarrow.lib.ArrowInvalid: JSON parse error: Column(/text) changed from string to array in row 214",
)
HEADLESS = (
    "Error executing job with overrides: ['trainer.num_nodes=4']",
    "thread '<unnamed>' panicked at 'called `Option::unwrap()` on a `None` value', tokenizers-lib/src/models/bpe/model.rs:441:41",
    "FATAL [dataset.cpp:212] sample 90113: negative document length (-3)",
    "E0000 trainer.py:88] config error: 'num_layers' (61) must be divisible by pipeline size (4)",
)


INTERNAL = (
    '!handles_.at(i) INTERNAL ASSERT FAILED at "/pytorch/torch/csrc/cuda/CUDAPluggableAllocator.cpp":26',
    'event.second INTERNAL ASSERT FAILED at "../c10/cuda/CUDACachingAllocator.cpp":1425',
    'r INTERNAL ASSERT FAILED at "../aten/src/ATen/cuda/detail/CUDAHooks.cpp":81',
)


@kind("software_user", "software_user", 5)
def user(c: Incident) -> None:
    """The user's code raises on one rank, on all, or asserts on the device."""
    rng, t = c.rng, c.at
    c.has_job = True
    everywhere = rng.random() < 0.3
    c.keep_job |= set(range(c.count)) if everywhere else {c.node}
    c.say("software_user", ["crash", "hang"])
    if everywhere:
        c.dies(list(range(c.world)))
        c.has_dumps = False
        c.begin()
        error = rng.choice(USER)
        for r in range(c.world):
            traceback(c, t + rng.uniform(0, 2), r, error)
        c.ended = t + 12
        aftermath(c, c.ended, 1)
        c.truth.suspects = None
        return
    c.dies([c.rank])
    c.begin()
    pick = rng.random()
    if pick < 0.2:
        c.log.say(
            t - 0.1,
            c.rank,
            f"/pytorch/aten/src/ATen/native/cuda/{rng.choice(['Indexing.cu:1290: indexSelectLargeIndex', 'Loss.cu:250: nll_loss_forward_reduce_cuda_kernel_2d'])}: block: [{rng.randrange(900)},0,0], thread: [{rng.randrange(128)},0,0] Assertion `{rng.choice(['srcIndex < srcSelectDimSize', 't >= 0 && t < n_classes'])}` failed.",
        )
        cuda_error(c, t, c.rank, "device-side assert triggered")
        if c.platform.vendor == "nvidia":
            c.bad.xid(
                t,
                c.gpu,
                13,
                f"Graphics SM Warp Exception on (GPC {rng.randrange(8)}, TPC {rng.randrange(9)}, SM 0): Illegal Instruction Parameter",
                c.bad.pids[c.gpu],
            )
            c.bad.xid(t + 0.1, c.gpu, 43, "Ch 00000008", c.bad.pids[c.gpu])
    elif pick < 0.35:
        c.log.say(t, c.rank, rng.choice(HEADLESS))
    else:
        traceback(c, t, c.rank, rng.choice(USER))
    c.told = True
    lose_dumps(c, (5, 2, 1))
    by_crash(c, t, {c.rank}, code=1)
    c.blame([c.rank])


@kind("software_framework", "software_framework", 5)
def framework(c: Incident) -> None:
    """A library breaks: segfault, internal assert, an illegal access on most GPUs."""
    rng, t, n = c.rng, c.at, c.bad
    c.has_job = True
    pick = rng.choice(["segv", "segv", "assert", "many", "heap", "nccl", "triton"])
    c.say("software_framework", ["crash", "hang"])
    if pick == "many":
        c.dies(list(range(c.world)))
        c.has_dumps = False
        c.begin()
        c.keep_job |= set(range(c.count))
        c.keep_kernel |= set(range(c.count))
        where = f"0x7f{rng.getrandbits(8):02x}_{rng.getrandbits(32):08x}"
        for r in range(c.world):
            if rng.random() < 0.8:
                m, g = c.nodes[c.node_of(r)], r % c.platform.per_node
                if c.platform.vendor == "nvidia":
                    m.xid(
                        t + rng.uniform(0, 1),
                        g,
                        31,
                        f"Ch {rng.randrange(64):08x}, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC{rng.randrange(8)} GPCCLIENT_T1_0 faulted @ {where}. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
                        m.pids[g],
                    )
                cuda_error(
                    c, t + rng.uniform(0.1, 3), r, "an illegal memory access was encountered"
                )
        c.ended = t + 20
        aftermath(c, c.ended, 1)
        return
    c.dies([c.rank])
    c.begin()
    c.keep_job.add(c.node)
    code = 1
    if pick == "segv":
        code = -11
        c.keep_kernel.add(c.node)
        ip = rng.getrandbits(40)
        lib = rng.choice(
            [
                "libnccl.so.2.21.5",
                "libtorch_cuda.so",
                "libcuda.so.535.161.08",
                "libc10.so",
                "libnccl-net.so",
                "libcudnn_engines_precompiled.so.9",
            ]
        )
        n.say(
            t,
            f"{n.process}[{n.pids[c.gpu]}]: segfault at {rng.getrandbits(20):x} ip 00007f{ip:010x} sp 00007ffc{rng.getrandbits(32):08x} error 4 in {lib}[7f{ip & ~0xFFFFFF:010x}+{rng.getrandbits(26):x}]",
            6,
        )
        if rng.random() < 0.6:
            c.log.say(
                t,
                c.rank,
                f'Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f{rng.getrandbits(40):010x} (most recent call first):\n  File "/usr/local/lib/python3.10/dist-packages/torch/autograd/graph.py", line 825 in _engine_run_backward',
            )
    elif pick == "assert":
        traceback(
            c,
            t,
            c.rank,
            "RuntimeError: " + rng.choice(INTERNAL) + ", please report a bug to PyTorch.",
        )
    elif pick == "heap":
        code = -6
        c.log.say(
            t,
            c.rank,
            rng.choice(
                [
                    "free(): invalid pointer",
                    "double free or corruption (!prev)",
                    "malloc(): unaligned tcache chunk detected",
                    "corrupted size vs. prev_size while consolidating",
                ]
            ),
        )
    elif pick == "nccl":
        c.log.nccl(
            t,
            c.rank,
            f"{rng.choice(['proxy.cc:1458', 'enqueue.cc:1142', 'transport/p2p.cc:275'])} NCCL WARN {rng.choice(['[Proxy Service] Error encountered progressing operation=Connect, res=3, closing connection', 'Internal error : unexpected proxy message type 0', 'Cuda failure 1 (invalid argument)'])}",
        )
        traceback(
            c,
            t + 0.1,
            c.rank,
            "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.hpp:328, internal error - please report this issue to the NCCL developers, NCCL version 2.21.5\nncclInternalError: Internal check failed.",
        )
    else:
        traceback(
            c,
            t,
            c.rank,
            rng.choice(
                [
                    "RuntimeError: PassManager::run failed",
                    "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 294912, Hardware limit: 232448. Reducing block sizes or `num_stages` may help.",
                    "torch._dynamo.exc.InternalTorchDynamoError: NameError: name 'L' is not defined",
                    "torch._inductor.exc.InductorError: AssertionError: invalid node in graph",
                ]
            ),
        )
        c.truth.acceptable.append("software_user")
    c.told = True
    lose_dumps(c, (5, 2, 1))
    by_crash(c, t, {c.rank}, code=code)
    c.blame([c.rank])
