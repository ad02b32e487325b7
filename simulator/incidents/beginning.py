"""How a job comes up: what launchers, frameworks and NCCL say before the first step.

All of it is harmless, and some of it sounds alarming.
"""

from typing import Final

from simulator.incidents.story import Story, Voice

_OMP: Final = (
    "*****************************************",
    "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid "
    "your system being overloaded, please further tune the variable for optimal performance in "
    "your application as needed. ",
    "*****************************************",
)
_LIGHTNING: Final = (
    "GPU available: True (cuda), used: True",
    "TPU available: False, using: 0 TPU cores",
    "HPU available: False, using: 0 HPUs",
    "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/{world}",
    "----------------------------------------------------------------------------------------------"
    "------",
    "distributed_backend=nccl",
    "All distributed processes registered. Starting with {world} processes",
    "LOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES: [0,1,2,3,4,5,6,7]",
)
STARTS: Final[dict[str, tuple[str, ...]]] = {
    "megatron": (
        "using world size: {world}, data-parallel size: {half}, context-parallel size: 1, "
        "tensor-model-parallel size: 2, pipeline-model-parallel size: 1",
        "using torch.bfloat16 for parameters ...",
        "------------------------ arguments ------------------------",
        "  data_path ....................................... /data/tokens/v3",
        "  distributed_timeout_minutes ..................... 10",
        "  exit_on_missing_checkpoint ...................... False",
        "  check_for_nan_in_loss_and_grad .................. True",
        "  error_injection_rate ............................ 0",
        "  rerun_mode ...................................... validate_results",
        "-------------------- end of arguments ---------------------",
        "> initializing torch distributed ...",
        "> initialized tensor model parallel with size 2",
        "> setting random seeds to 1234 ...",
        "> compiling dataset index builder ...",
        "WARNING: constraints for invoking optimized fused softmax kernel are not met. We default "
        "back to unfused kernel invocations.",
        "[after dataloaders are built] datetime: {at} ",
        "done with setup ...",
        "training ...",
        "[before the start of training step] datetime: {at} ",
    ),
    "nemo": (
        "[NeMo I {at} nemo_logging:393] Experiments will be logged at /results/pretrain",
        "[NeMo W {at} nemo_logging:405] \"update_logger_directory\" is True. Overwriting "
        "tensorboard logger \"save_dir\" to /results",
        *_LIGHTNING,
        "[NeMo I {at} nemo_logging:393] Setting up optimizers with config OptimizerConfig",
        "[NeMo W {at} nemo_logging:405] There were no checkpoints found in checkpoint_dir or no "
        "checkpoint folder at checkpoint_dir :/results/checkpoints. Training from scratch.",
    ),
    "lightning": (
        *_LIGHTNING,
        "/usr/lib/python3/dist-packages/lightning/pytorch/trainer/connectors/data_connector.py:424:"
        " The 'train_dataloader' does not have many workers which may be a bottleneck. Consider "
        "increasing the value of the `num_workers` argument` to `num_workers=23` in the "
        "`DataLoader` to improve performance.",
        "8.0 B     Trainable params",
        "0         Non-trainable params",
    ),
    "torchtitan": (
        "[titan] {at},101 - root - INFO - Starting job: Llama 3 8B training",
        "[titan] {at},102 - root - WARNING - ENV[TORCH_NCCL_ASYNC_ERROR_HANDLING] = 1 will be "
        "overridden to 3 based on job config",
        "[titan] {at},118 - root - INFO - Building 1-D device mesh with ['dp_shard'], [{world}]",
        "[titan] {at},120 - root - INFO - CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB "
        "memory",
        "[titan] {at},340 - root - INFO - Model llama3 8B size: 8,030,261,248 total parameters",
        "[titan] {at},640 - root - INFO - Applied FSDP to the model",
        "[titan] {at},910 - root - INFO - Training starts at step 1.",
    ),
    "deepspeed": (
        "[{at},101] [INFO] [real_accelerator.py:203:get_accelerator] Setting ds_accelerator to "
        "cuda (auto detect)",
        "[{at},230] [INFO] [comm.py:652:init_distributed] cdb=None",
        "[{at},231] [INFO] [comm.py:683:init_distributed] Initializing TorchBackend in DeepSpeed "
        "with backend nccl",
        " [WARNING]  async_io requires the dev libaio .so object and headers but these were not "
        "found.",
        " [WARNING]  sparse_attn requires a torch version >= 1.5 and < 2.0 but detected 2.4",
        "[{at},640] [INFO] [config.py:999:print] DeepSpeedEngine configuration:",
        "[{at},640] [INFO] [config.py:1003:print]   nan_check .................... False",
        "[{at},641] [INFO] [config.py:1003:print]   fail_fast .................... False",
    ),
    "transformers": (
        "\rLoading checkpoint shards: 100%|##########| 4/4 [00:07<00:00,  1.81s/it]",
        "Detected kernel version 5.4.0, which is below the recommended minimum of 5.5.0; this can "
        "cause the process to hang. It is recommended to upgrade the kernel to the minimum version "
        "or higher.",
        "***** Running training *****",
        "  Num examples = 512,000,000",
        "  Num Epochs = 1",
        "  Instantaneous batch size per device = 4",
        "  Total train batch size (w. parallel, distributed & accumulation) = 1,024",
        "  Total optimization steps = 500,000",
    ),
    "composer": (
        "{at},101: rank0[{pid}][MainThread]: INFO: composer.utils.reproducibility: Setting seed to "
        "17",
        "Building tokenizer...", "Building train loader...", "Building trainer...",
        "Starting training...",
    ),
    "plain": ("loading data ...", "model: 8.03 B parameters, bf16", "starting at step 0"),
}  # fmt: skip
UNEASY: Final = (
    "/usr/lib/python3/dist-packages/torch/utils/checkpoint.py:429: UserWarning: "
    "torch.utils.checkpoint: please pass in use_reentrant explicitly",
    "/usr/lib/python3/dist-packages/torch/distributed/c10d_logger.py:79: FutureWarning: "
    "`torch.distributed._all_gather_base` is a private function and will be deprecated. Please use "
    "`torch.distributed.all_gather_into_tensor` instead.",
    "/usr/lib/python3/dist-packages/torch/library.py:357: UserWarning: Warning only once for all "
    "operators,  other operators may also be overridden.",
    "TF-TRT Warning: Could not find TensorRT",
    "wandb: WARNING Path /results/wandb/ wasn't writable, using system temp directory.",
    "WARNING:root:Failed to import flash_attn_3, falling back to flash_attn 2",
)
CPP_UNEASY: Final = (
    (
        "[PG ID 0 PG GUID 0 Rank {rank}]  using GPU {local} as device used by this process is "
        "currently unknown. This can potentially cause a hang if this rank to GPU mapping is "
        "incorrect. You can pecify device_id in init_process_group() to force use of a particular "
        "device.",
        "ProcessGroupNCCL.cpp:4561",
    ),
    (
        "Warning: TORCH_NCCL_AVOID_RECORD_STREAMS=1 has no effect for point-to-point collectives. "
        "(function operator())",
        "ProcessGroupNCCL.cpp:2780",
    ),
)
NCCL_SAYS: Final = (
    "NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.",
    "NCCL INFO TUNER/Plugin: Could not find: libnccl-tuner.so libnccl-net.so. Using internal tuner "
    "plugin.",
    "NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB [3]mlx5_3:1/IB [RO]; "
    "OOB eth0:{ip}<0>",
    "NCCL INFO ncclTopoGetCpuAffinity: Affinity for GPU {local} is empty, ignoring. (GPU affinity "
    "= ; CPU affinity = 0-95).",
    "NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.",
    "NCCL INFO Failed to open libibverbs.so[.1]",
    "NCCL INFO Connected all rings, use ring PXN 0 GDR 1",
    "NCCL INFO Connected all trees",
    "NCCL INFO 16 coll channels, 16 collnet channels, 0 nvls channels, 16 p2p channels, 2 p2p "
    "channels per peer",
)


def job_start(story: Story, seconds: float) -> None:
    """How the job came up: launcher, arguments, warnings, NCCL's own words."""
    world, chance = story.world, story.world.chance("beginning")
    framework = world.software.framework
    own = next(lines for name, lines in STARTS.items() if framework.startswith(name))
    if chance.random() < 0.8:
        story.log_rank(seconds, 0, *_OMP)
    for place, text in enumerate(own):
        at = seconds + 1.0 + 2.0 * place
        stamp = f"{story.wall(at, 0):%Y-%m-%d %H:%M:%S}"
        story.log_rank(
            at,
            0,
            text.format(
                world=world.ranks, half=max(world.ranks // 2, 1), at=stamp, pid=world.pid(0)
            ),
        )
    for text in chance.sample(UNEASY, chance.randrange(1, 4)):
        story.log_rank(seconds + 45.0, chance.randrange(world.ranks), text)
    for text, source in chance.sample(CPP_UNEASY, chance.randrange(3)):
        rank = chance.randrange(world.ranks)
        said = text.format(rank=rank, local=world.local(rank))
        story.log_rank(seconds + 3.0, rank, said, voice=Voice.CPP, severity="W", source=source)
    if chance.random() < 0.5:
        for text in chance.sample(NCCL_SAYS, 5):
            said = text.format(ip=world.nodes[0].ip, local=0)
            story.log_rank(seconds + 58.0, 0, said, voice=Voice.NCCL)
