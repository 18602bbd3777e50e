"""The operator `forearm::evaluate` of PyTorch: its computation, its shapes, its derivatives and its vmap
rule. Derivatives are the same operator with another function's name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._functorch.autograd_function import enable_single_level_autograd_function
from torch.autograd import forward_ad

from forearm.errors import InputError
from forearm.frameworks.torch_evaluation import Evaluation, Tensor, evaluation_of
from forearm.kernels.compiled import Shape

LIBRARY = torch.library.Library("forearm", "DEF")
LIBRARY.define("evaluate(str function, Tensor[] inputs) -> Tensor[]")
OPERATOR = torch.ops.forearm.evaluate.default
is_transformed = torch._C._are_functorch_transforms_active
count_of_modes = torch._C._len_torch_dispatch_stack
is_compiling = torch.compiler.is_compiling


def evaluate(evaluation: Evaluation, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """The results, by the fastest path on which every active mode and transform sees this call."""
    if is_compiling():
        return OPERATOR(evaluation.token, list(tensors))  # type: ignore[no-any-return]
    if is_transformed():
        return TransformedEvaluation.apply(evaluation, *tensors)  # type: ignore[no-any-return]
    if count_of_modes() or any(type(t) not in PLAIN for t in tensors):
        return OPERATOR(evaluation.token, list(tensors))  # type: ignore[no-any-return]
    if forward_ad._current_level >= 0 and any(map(_is_batched, tensors)):
        return _in_a_batch_of_gradients(evaluation, tensors)
    if is_followed(tensors):
        return RecordedEvaluation.apply(evaluation, evaluation, *tensors)  # type: ignore[no-any-return]
    try:
        return evaluation(tensors)
    except RuntimeError:  # tensors without memory of their own
        if not any(map(_is_batched, tensors)):
            raise
    return _in_a_batch_of_gradients(evaluation, tensors)


def _is_batched(tensor: Tensor) -> bool:
    return " Batched" in str(torch._C._dispatch_keys(tensor)).replace("(", " ")


def _in_a_batch_of_gradients(evaluation: Evaluation, tensors: Sequence[Tensor]) -> list[Tensor]:
    """The results inside `torch.autograd.grad(is_grads_batched=True)` and
    `torch.autograd.functional.jacobian(..., vectorize=True)`, which use a separate vmap implementation.
    """
    level = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    size = next(torch._remove_batch_dim(t, level, 1, 0).shape[0] for t in tensors if _is_batched(t))
    moved = [torch._remove_batch_dim(t, level, size, 0) for t in tensors]
    dims: list[int | None] = [0] * len(moved)
    return [
        torch._add_batch_dim(t, 0, level)
        for t in evaluate(evaluation, evaluation.in_front(size, dims, moved))
    ]


PLAIN = (torch.Tensor, torch.nn.Parameter)


def is_followed(tensors: Sequence[Tensor]) -> bool:
    """Whether derivatives are recorded."""
    return forward_ad._current_level >= 0 or (
        torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
    )


def _backward(ctx: Any, *weights: Tensor) -> tuple[Tensor, ...]:
    evaluation, given = ctx.evaluation, ctx.saved_tensors
    if evaluation.is_implicit:
        return _implicit_backward(evaluation, given, weights[0])
    states = given[:-1] if evaluation.is_open else given
    made = list(evaluate(evaluation.then("reverse"), [*states, *weights, *given[len(states) :]]))
    for k in evaluation.shareable:  # gradients are computed per state
        shape = evaluation.inputs[k].shape
        if given[k].ndim == len(shape) < made[k].ndim:
            made[k] = made[k].reshape(-1, *shape).sum(0)
    return tuple(made)


def _forward_rates(ctx: Any, rates: Sequence[Tensor | None]) -> tuple[Tensor, ...]:
    evaluation, given = ctx.evaluation, ctx.saved_tensors
    states = given[:-1] if evaluation.is_open else given
    moved = [torch.zeros_like(x) if rate is None else rate for x, rate in zip(given, rates, strict=True)]
    if evaluation.is_implicit:
        return _implicit_rates(evaluation, given, moved)
    if evaluation.is_shared(given):
        moved[-1] = moved[-1].expand(*evaluation.batch_of(given), -1)
    return tuple(evaluate(evaluation.then("forward"), [*states, *moved, *given[len(states) :]]))


def _implicit_backward(evaluation: Evaluation, given: Sequence[Tensor], weight: Tensor) -> tuple[Tensor, ...]:
    """Reverse mode through accelerations of long arms: implicitly, by the derivatives of tau = inverse
    dynamics at qdd, multiplied by M^-1.
    """
    q, qd, _ = given
    (qdd,) = evaluate(evaluation, given)
    pulled = _solved(evaluation, q, weight)
    by_q, by_qd, _ = evaluate(evaluation.beside("inverse_dynamics").then("reverse"), [q, qd, qdd, -pulled])
    return by_q, by_qd, pulled


def _implicit_rates(
    evaluation: Evaluation, given: Sequence[Tensor], rates: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    q, qd, _ = given
    (qdd,) = evaluate(evaluation, given)
    forward = evaluation.beside("inverse_dynamics").then("forward")
    (moved,) = evaluate(forward, [q, qd, qdd, rates[0], rates[1], torch.zeros_like(qdd)])
    return (_solved(evaluation, q, rates[2] - moved),)


def _solved(evaluation: Evaluation, q: Tensor, torques: Tensor) -> Tensor:
    (M,) = evaluate(evaluation.beside("inertia_matrix"), [q])
    return torch.linalg.solve(M, torques[..., None])[..., 0]


Way = Callable[[Sequence[Tensor]], Sequence[Tensor]] | None  # None: by the operator


class RecordedEvaluation(torch.autograd.Function):
    """An evaluation that autograd records, executed either by the operator below autograd, or directly."""

    @staticmethod
    def forward(ctx: Any, evaluation: Evaluation, way: Way, *tensors: Tensor) -> tuple[Tensor, ...]:
        """The results."""
        ctx.evaluation = evaluation  # which also keeps the kernel alive until the graph is freed
        ctx.save_for_backward(*tensors)
        if way is None or forward_ad._current_level >= 0:
            ctx.save_for_forward(*tensors)
        if way is not None:
            return tuple(way(tensors))
        with torch._C._AutoDispatchBelowAutograd():
            return tuple(OPERATOR(evaluation.token, list(tensors)))

    @staticmethod
    def backward(ctx: Any, *weights: Tensor) -> tuple[Tensor | None, ...]:
        """Propagate weights on the results back to the inputs."""
        return (None, None, *_backward(ctx, *weights))

    @staticmethod
    def jvp(ctx: Any, _: None, __: None, *rates: Tensor | None) -> tuple[Tensor, ...]:
        """Propagate rates of the inputs to the results."""
        return _forward_rates(ctx, rates)


class SingleLevelEvaluation(torch.autograd.function._SingleLevelFunction):
    """The same for a single level of transforms, recorded as PyTorch itself does."""

    forward = staticmethod(RecordedEvaluation.forward)
    backward = staticmethod(RecordedEvaluation.backward)
    jvp = staticmethod(RecordedEvaluation.jvp)


class TransformedEvaluation(torch.autograd.Function):
    """An evaluation under `torch.func.grad`, `jvp`, `vmap` and combinations, outside compiled code."""

    @staticmethod
    def forward(evaluation: Evaluation, *tensors: Tensor) -> tuple[Tensor, ...]:
        """The results."""
        return tuple(evaluate(evaluation, tensors))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Save what derivatives need."""
        ctx.evaluation, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *weights: Tensor) -> tuple[Tensor | None, ...]:
        """Propagate weights on the results back to the inputs."""
        return (None, *_backward(ctx, *weights))

    @staticmethod
    def jvp(ctx: Any, _: None, *rates: Tensor | None) -> tuple[Tensor, ...]:
        """Propagate rates of the inputs to the results."""
        return _forward_rates(ctx, rates)

    @staticmethod
    def vmap(
        info: Any, dims: tuple[int | None, ...], evaluation: Evaluation, *tensors: Tensor
    ) -> tuple[tuple[Tensor, ...], Shape]:
        """The mapped dimension becomes an additional batch dimension."""
        made = tuple(evaluate(evaluation, evaluation.in_front(info.batch_size, dims[1:], tensors)))
        return made, (0,) * len(made)


def _computed(function: str, inputs: list[Tensor]) -> list[Tensor]:
    evaluation = evaluation_of(function)
    evaluation.check(inputs)
    return evaluation(inputs)


def _shaped(function: str, inputs: list[Tensor]) -> list[Tensor]:
    evaluation = evaluation_of(function)
    evaluation.check(inputs)
    return evaluation.empty([t.contiguous() for t in inputs])


def _recorded(function: str, inputs: list[Tensor]) -> list[Tensor]:
    """Under transforms inside compiled code this is one level of them: those below see the operator again."""
    evaluation = evaluation_of(function)
    if not is_transformed() and not is_followed(inputs):
        with torch._C._AutoDispatchBelowAutograd():
            return OPERATOR(function, inputs)  # type: ignore[no-any-return]
    if not is_transformed():
        return list(RecordedEvaluation.apply(evaluation, None, *inputs))
    keys = [i.key() for i in torch._C._functorch.get_interpreter_stack() or ()]
    if keys.count(torch._C._functorch.TransformType.Jvp) > 1:
        raise InputError(
            "forward mode of forward mode is not supported in compiled code; use "
            "torch.func.hessian, or keep this function outside torch.compile.",
            "k.torch",
            " + ".join(evaluation.names),
        )
    with enable_single_level_autograd_function():
        return list(SingleLevelEvaluation.apply(evaluation, None, *inputs))


def _mapped(
    info: Any, dims: tuple[Any, Sequence[int | None]], function: str, inputs: list[Tensor]
) -> tuple[list[Tensor], list[int]]:
    moved = evaluation_of(function).in_front(info.batch_size, dims[1], inputs)
    made = OPERATOR(function, moved)
    return made, [0] * len(made)


for _key in ("CPU", "CUDA"):
    LIBRARY.impl("evaluate", _computed, _key)
LIBRARY.impl("evaluate", _recorded, "Autograd")
torch.library.register_fake("forearm::evaluate", _shaped, lib=LIBRARY)
torch.library.register_vmap("forearm::evaluate", _mapped, lib=LIBRARY)
