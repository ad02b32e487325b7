"""Python stacks of a training script, innermost call first, as deep as asked.

Calls of the backward pass run in the autograd engine's own thread, hence on
other frames. The middle of a deep stack is nested module calls, as in life.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Frame:
    """One call: function, file, line."""

    name: str
    filename: str
    line: int


SITE_PACKAGES = "/opt/venv/lib/python3.11/site-packages"
_C10D = f"{SITE_PACKAGES}/torch/distributed/distributed_c10d.py"
_MODULE = f"{SITE_PACKAGES}/torch/nn/modules/module.py"
_FUNCTION = f"{SITE_PACKAGES}/torch/autograd/function.py"
_WRAPPER = Frame("wrapper", f"{SITE_PACKAGES}/torch/distributed/c10d_logger.py", 83)
TRAIN = "/opt/train"

_C10D_CALL = {
    "all_reduce": ("all_reduce", 3008),
    "_all_gather_base": ("all_gather_into_tensor", 4071),
    "_reduce_scatter_base": ("reduce_scatter_tensor", 4501),
    "all_to_all": ("all_to_all_single", 4727),
    "broadcast": ("broadcast", 2870),
    "send": ("isend", 2582),
    "recv": ("irecv", 2631),
    "coalesced": ("batch_isend_irecv", 2767),
}

_SITES = {
    "attention": ("layers/attention.py", "forward", 211),
    "mlp_in": ("layers/mlp.py", "gather_sequence", 64),
    "mlp_out": ("layers/mlp.py", "scatter_sequence", 92),
    "logits_max": ("loss/vocab_parallel.py", "max_logits", 31),
    "logits_sum": ("loss/vocab_parallel.py", "sum_exp", 48),
    "moe_dispatch": ("layers/experts.py", "dispatch", 133),
    "moe_combine": ("layers/experts.py", "combine", 158),
    "unshard": ("parallel/sharded.py", "unshard", 77),
    "reshard": ("parallel/sharded.py", "reduce_grads", 119),
    "recv_forward": ("parallel/pipeline.py", "recv_forward", 201),
    "send_forward": ("parallel/pipeline.py", "send_forward", 214),
    "recv_backward": ("parallel/pipeline.py", "recv_backward", 226),
    "send_backward": ("parallel/pipeline.py", "send_backward", 238),
    "grads": ("optim/distributed.py", "reduce_scatter_grads", 88),
    "params": ("optim/distributed.py", "gather_params", 141),
    "grad_norm": ("optim/clip.py", "grad_norm", 37),
    "loss": ("train.py", "mean_loss", 96),
    "checkpoint": ("checkpoint/barrier.py", "all_ready", 52),
    "exchange": ("data/exchange.py", "exchange_index", 29),
}

_MODEL_SITES = {"attention", "mlp_in", "mlp_out", "logits_max", "logits_sum"} | {
    "moe_dispatch",
    "moe_combine",
    "unshard",
    "reshard",
}


def stack(name: str, site: str, *, autograd: bool, depth: int) -> tuple[Frame, ...]:
    """The ``depth`` innermost frames of the call of operation ``name`` at ``site``."""
    call, line = _C10D_CALL[name]
    path, function, at = _SITES[site]
    inner = [Frame(call, _C10D, line), _WRAPPER, Frame(function, f"{TRAIN}/{path}", at)]
    if autograd:
        inner.append(Frame("backward", f"{TRAIN}/{path}", at + 25))
        inner.append(Frame("apply", _FUNCTION, 311))
        outer = [Frame("_engine_run_backward", f"{SITE_PACKAGES}/torch/autograd/graph.py", 865)]
    else:
        if site in _MODEL_SITES:
            inner.append(Frame("forward", f"{TRAIN}/{path}", at + 40))
        outer = [
            Frame("train_step", f"{TRAIN}/train.py", 131),
            Frame("main", f"{TRAIN}/train.py", 182),
            Frame("<module>", f"{TRAIN}/train.py", 192),
        ]
    missing = depth - len(inner) - len(outer)
    nested = [_nested(level) for level in range(max(missing, 0))]
    return tuple([*inner, *nested, *outer][:depth])


def _nested(level: int) -> Frame:
    """The calls of modules in modules, two frames each and a wrapper's own at every third."""
    if level % 3 == 0:
        return Frame("_wrapped_call_impl", _MODULE, 1776)
    if level % 3 == 1:
        return Frame("_call_impl", _MODULE, 1787)
    return Frame("forward", f"{TRAIN}/model/block_{level // 3}.py", 40 + level)
