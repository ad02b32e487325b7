"""What each pipeline stage issues in one training step.

Pipeline with micro-batches (1F1B in coalesced batches, or all forwards then all
backwards with plain send and recv), sequence-parallel tensor parallelism in every
layer, optional expert all-to-all, sharded gradients at the end of the step, and a
loss all_reduce in the default group, for which the host waits.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from simulator.operation import Op, Program, Sizes, block, recv, send
from simulator.slots import Slot
from simulator.topology import Shape

_SEQUENCE = 4096
_HIDDEN = 8192
_LAYERS = 2
# Without tensor parallelism a rank holds more layers between two collectives.
_LAYERS_SHARDED = 4
# Expert all-to-alls are uneven: ranks of a group differ in size by right.
NUM_VARIANTS = 3
_COMPUTE_US = 700.0
_COMPUTE_ALONE_US = 4000.0

# One tensor: without a dimension; of one element.
_SCALAR: Sizes = ((),)
_ONE_NUMBER: Sizes = ((1,),)

_Passes = Callable[[], Program]


@dataclass(frozen=True, slots=True)
class StepStyle:
    """How a step is driven.

    ``inner`` > 1 is local SGD: so many micro-steps inside a model replica go
    between two meetings of the replicas, each ending in a sync of its own.
    """

    batched_p2p: bool = True
    inner: int = 1


def step_program(shape: Shape, stage: int, variant: int, style: StepStyle) -> Program:
    """The operations of one step on a rank of ``stage``, in issue order."""
    forward, backward = _passes(shape, stage, variant)
    if shape.pp == 1:
        body = (*forward(), *backward())
    elif style.batched_p2p:
        body = _one_forward_one_backward(shape.pp, stage, forward(), backward())
    else:
        body = _all_forward_then_backward(shape.pp, stage, forward(), backward())
    if style.inner > 1:
        body = _with_sync(shape, body) * style.inner
    return (*body, *_optimizer(shape), *_loss(shape))


def _passes(shape: Shape, stage: int, variant: int) -> tuple[_Passes, _Passes]:
    if shape.tp == 1 and shape.pp == 1 and shape.dp > 1:
        return _sharded_forward(shape, variant), _sharded_backward(shape, variant)
    last = stage == shape.pp - 1
    return (
        lambda: (*_layers_forward(shape, variant) * _LAYERS, *(_logits(shape) if last else ())),
        lambda: _layers_backward(shape, variant) * _LAYERS,
    )


def _tensor(shape: Shape, name: str, site: str, autograd: bool) -> Program:
    if shape.tp == 1:
        return ()
    whole, part = (_SEQUENCE, 1, _HIDDEN), (_SEQUENCE // shape.tp, 1, _HIDDEN)
    inputs = part if name == "_all_gather_base" else whole
    outputs = part if name == "_reduce_scatter_base" else whole
    return (
        Op(
            Slot.TP,
            name,
            (inputs,),
            (outputs,),
            site,
            autograd=autograd,
            compute_us=_COMPUTE_US,
        ),
    )


def _expert(shape: Shape, variant: int, site: str, autograd: bool) -> Program:
    if shape.ep == 1:
        return ()
    there, back = 2048 + 128 * variant, 2048 + 128 * ((variant + 1) % NUM_VARIANTS)
    if site == "moe_combine":
        there, back = back, there
    shapes = (((there, _HIDDEN),), ((back, _HIDDEN),))
    return (Op(Slot.EP, "all_to_all", *shapes, site, autograd=autograd),)


def _layers_forward(shape: Shape, variant: int) -> Program:
    return (
        *_tensor(shape, "all_reduce", "attention", False),
        *_tensor(shape, "_all_gather_base", "mlp_in", False),
        *_expert(shape, variant, "moe_dispatch", False),
        *_expert(shape, variant, "moe_combine", False),
        *_tensor(shape, "_reduce_scatter_base", "mlp_out", False),
    )


def _layers_backward(shape: Shape, variant: int) -> Program:
    return (
        *_tensor(shape, "_all_gather_base", "mlp_out", True),
        *_expert(shape, variant, "moe_combine", True),
        *_expert(shape, variant, "moe_dispatch", True),
        *_tensor(shape, "_reduce_scatter_base", "mlp_in", True),
        *_tensor(shape, "all_reduce", "attention", True),
    )


def _logits(shape: Shape) -> Program:
    if shape.tp == 1:
        return ()
    row = ((_SEQUENCE, 1),)
    return tuple(
        Op(Slot.TP, "all_reduce", row, row, site, dtype="Float")
        for site in ("logits_max", "logits_sum")
    )


def _data(shape: Shape, name: str, numel: int, site: str, autograd: bool, compute_us: float) -> Op:
    whole, part = ((numel * shape.dp,),), ((numel,),)
    gather = name == "_all_gather_base"
    return Op(
        Slot.DP,
        name,
        part if gather else whole,
        whole if gather else part,
        site,
        autograd=autograd,
        compute_us=compute_us,
        cost_us=600.0,
    )


def _sharded_forward(shape: Shape, variant: int) -> _Passes:
    gather = _data(shape, "_all_gather_base", 1 << 16, "unshard", False, _COMPUTE_ALONE_US)
    moe = (
        *_expert(shape, variant, "moe_dispatch", False),
        *_expert(shape, variant, "moe_combine", False),
    )
    return lambda: (gather, *moe) * _LAYERS_SHARDED


def _sharded_backward(shape: Shape, variant: int) -> _Passes:
    gather = _data(shape, "_all_gather_base", 1 << 16, "unshard", True, _COMPUTE_ALONE_US)
    scatter = _data(shape, "_reduce_scatter_base", 1 << 16, "reshard", True, _COMPUTE_ALONE_US)
    moe = (
        *_expert(shape, variant, "moe_combine", True),
        *_expert(shape, variant, "moe_dispatch", True),
    )
    return lambda: (gather, *moe, scatter) * _LAYERS_SHARDED


def _optimizer(shape: Shape) -> Program:
    ops: list[Op] = []
    if shape.dp > 1:
        for name, site in (("_reduce_scatter_base", "grads"), ("_all_gather_base", "params")):
            ops += [_data(shape, name, numel, site, False, 500.0) for numel in (1 << 20, 1 << 18)]
    if shape.tp > 1:
        norm = Op(Slot.TP, "all_reduce", _SCALAR, _SCALAR, "grad_norm", dtype="Float")
        ops.append(norm)
    return tuple(ops)


def _loss(shape: Shape) -> Program:
    if shape.ranks == 1:
        return ()
    return (
        Op(Slot.DEFAULT, "all_reduce", _ONE_NUMBER, _ONE_NUMBER, "loss", dtype="Float", sync=True),
    )


def _with_sync(shape: Shape, body: Program) -> Program:
    if shape.tp > 1:
        loss = Op(Slot.TP, "all_reduce", _ONE_NUMBER, _ONE_NUMBER, "loss", dtype="Float", sync=True)
        return (*body, loss)
    return (*body[:-1], replace(body[-1], sync=True))


@dataclass(frozen=True, slots=True)
class _Hops:
    """The four transfers of a pipeline stage; an end of the pipeline lacks two of them."""

    pp: int
    stage: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (_SEQUENCE, 1, _HIDDEN // 8)

    def forward_in(self) -> Program:
        if self.stage == 0:
            return ()
        return (recv(self.stage, self.stage - 1, self.shape, site="recv_forward"),)

    def forward_out(self) -> Program:
        if self.stage == self.pp - 1:
            return ()
        return (send(self.stage, self.stage + 1, self.shape, site="send_forward"),)

    def backward_in(self) -> Program:
        if self.stage == self.pp - 1:
            return ()
        return (recv(self.stage, self.stage + 1, self.shape, site="recv_backward"),)

    def backward_out(self) -> Program:
        if self.stage == 0:
            return ()
        return (send(self.stage, self.stage - 1, self.shape, site="send_backward"),)


def _one_forward_one_backward(pp: int, stage: int, forward: Program, backward: Program) -> Program:
    hops = _Hops(pp, stage)
    micro_batches = max(pp, 2)
    warmup = min(pp - 1 - stage, micro_batches)
    steady = micro_batches - warmup
    ops: list[Op] = []
    for _ in range(warmup):
        ops += [*block(*hops.forward_in()), *forward, *block(*hops.forward_out())]
    if steady:
        ops += block(*hops.forward_in())
    for turn in range(steady):
        ops += [*forward, *block(*hops.forward_out(), *hops.backward_in()), *backward]
        more = hops.forward_in() if turn + 1 < steady else ()
        ops += block(*hops.backward_out(), *more)
    for _ in range(warmup):
        ops += [*block(*hops.backward_in()), *backward, *block(*hops.backward_out())]
    return tuple(ops)


def _all_forward_then_backward(pp: int, stage: int, forward: Program, backward: Program) -> Program:
    hops = _Hops(pp, stage)
    micro_batches = max(pp, 2)
    ahead = (*hops.forward_in(), *forward, *hops.forward_out())
    back = (*hops.backward_in(), *backward, *hops.backward_out())
    return (*ahead * micro_batches, *back * micro_batches)
