"""The fast path: tensors like those of the previous call are passed directly to machine code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from forearm.frameworks.torch_evaluation import Evaluation, Tensor
from forearm.frameworks.torch_operator import PLAIN, RecordedEvaluation, count_of_modes, is_transformed

increment_version = torch.autograd.graph.increment_version
address_of = torch.Tensor.data_ptr
MOST_KEPT, MOST_SEEN = 4, 64
# Without the overhead of `apply` for tensors under transforms, which have no fast path.
_function: Any = super(torch.autograd.Function, RecordedEvaluation)
record = _function.apply


class Shortcut:
    """What to do with tensors of one kind: type, dtype, device, shape, strides, and active modes.

    `is_same` compares all of these at once, by the function with which compiled PyTorch code decides whether
    it can be reused.
    """

    __slots__ = (
        "count", "evaluation", "is_like", "is_same", "is_variable", "launch", "reach_out", "reaches", "rows",
        "shape",
    )  # fmt: skip

    def __init__(self, evaluation: Evaluation, states: Sequence[Tensor], out: Tensor | None) -> None:
        slot, made, first = evaluation.inputs[0], evaluation.outputs[0], states[0]
        self.evaluation, self.count = evaluation, len(states)
        self.is_same = _comparison([*states] if out is None else [*states, out])
        self.is_variable = torch.is_grad_enabled() and any(t.requires_grad for t in states)
        self.rows = first.numel() // slot.size
        self.shape = (*evaluation.batch_of(states), *made.shape)
        self.is_like = self.shape == tuple(first.shape)
        each = evaluation.is_open and not evaluation.is_shared(states)
        self.launch = evaluation.launch_rows(first.device, self.rows, each)
        width = first.element_size()
        self.reaches, self.reach_out = [t.numel() * width for t in states], self.rows * made.size * width

    def call(self, states: tuple[Tensor, ...], out: Tensor | None) -> Tensor | None:
        """The result; None if these tensors are of another kind or need the ordinary path."""
        if len(states) != self.count or forward_ad._current_level >= 0:
            return None
        if out is None:
            if not self.is_same(*states):
                return None
            if self.is_variable:
                return record(self.evaluation, self.computed, *states)[0]
            return self.computed(states)[0]
        if not self.is_same(*states, out):
            return None
        addresses = [*map(address_of, states)]
        at, reach_out = out.data_ptr(), self.reach_out
        for a, reach in zip(addresses, self.reaches, strict=True):
            if -reach < a - at < reach_out and not (a == at and self.is_like and reach == reach_out):
                return None  # the result overlaps an argument
        addresses.append(at)
        if 0 in addresses:  # tensors without memory
            return None
        increment_version(out)
        self.launch(*addresses, self.rows)
        return out

    def computed(self, states: Sequence[Tensor]) -> Sequence[Tensor]:
        """The result in a new tensor."""
        first = states[0]
        out = torch.empty_like(first) if self.is_like else first.new_empty(self.shape)
        addresses = [*map(address_of, states), out.data_ptr()]
        if 0 in addresses:
            return self.evaluation(states)
        self.launch(*addresses, self.rows)
        return (out,)


def is_unusual(states: Sequence[Any], out: Any) -> bool:
    """What the comparison does not see:
    modes that intercept operators, and nested tensors, which would crash it.
    """
    try:
        for tensor in states:  # an explicit loop, the fastest way
            if tensor.is_nested:
                return True
        return count_of_modes() > 0 or (out is not None and out.is_nested)
    except AttributeError:  # not all of them are tensors
        return True


class Shortcuts:
    """The shortcuts of a function, for the most recent kinds of tensors; with `out` or without."""

    def __init__(self, evaluation: Evaluation, with_out: bool) -> None:
        self.evaluation, self.with_out = evaluation, with_out
        self.kept: tuple[Shortcut, ...] = ()
        self._seen: set[Any] = set()

    def remember(self, states: tuple[Tensor, ...], out: Any) -> None:
        """Create a shortcut for a kind of tensors that comes a second time."""
        shape = states[0].shape
        if shape not in self._seen:
            if len(self._seen) >= MOST_SEEN:
                self._seen.clear()
            self._seen.add(shape)
            return
        found = shortcut_for(self.evaluation, states, out)
        given = (*states, out) if self.with_out else states
        if found is not None and not any(old.is_same(*given) for old in self.kept):
            self.kept = (found, *self.kept[: MOST_KEPT - 1])


def shortcut_for(evaluation: Evaluation, states: Sequence[Tensor], out: Any) -> Shortcut | None:
    """The shortcut for tensors like these; None if they need inspection every time."""
    slots, first, plain = evaluation.inputs, states[0], states
    if evaluation.is_open:
        slots, plain, values = slots[:-1], states[:-1], states[-1]
        row = (len(evaluation.kernel.kernel.parameters),)
        if type(values) not in PLAIN or not values.is_contiguous() or values.is_neg():
            return None
        if tuple(values.shape) not in (row, (*evaluation.batch_of(states), *row)):
            return None
    if (
        TensorGuards is None
        or first.device.type not in ("cpu", "cuda")
        or len(evaluation.outputs) > 1
        or len({slot.shape for slot in slots}) > 1
        or not all(type(t) in PLAIN for t in plain)
        or not all(t.shape == first.shape and t.is_contiguous() and not t.is_neg() for t in plain)
        or count_of_modes()
        or is_transformed()
        or not 0 < first.numel() // slots[0].size <= evaluation.most_on(first.device)
        or (out is not None and not _is_plain_result(out, states))
    ):
        return None
    return Shortcut(evaluation, states, out)


def _is_plain_result(out: Any, states: Sequence[Tensor]) -> bool:
    return (
        type(out) is torch.Tensor
        and out.is_contiguous()
        and not out.is_neg()
        and not out.requires_grad
        and not out.is_inference()
        and not (torch.is_grad_enabled() and any(t.requires_grad for t in states))
    )


def _comparison(tensors: Sequence[Tensor]) -> Callable[..., bool]:
    assert TensorGuards is not None
    return TensorGuards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None).check  # type: ignore[no-any-return]


def _guards() -> Any:
    """PyTorch's comparison of tensors, if it exists and distinguishes what it must."""
    try:
        from torch._C._dynamo.guards import TensorGuards as Guards

        like, flat = torch.zeros(2, 3), torch.zeros(6)
        check = Guards(like, dynamic_dims_sizes=None, dynamic_dims_strides=None).check
        others = (flat, torch.zeros(3, 3), torch.zeros(3, 2).t(), like.double(), torch._neg_view(like))
        more = (
            torch.zeros(2, 3, requires_grad=True),
            torch.nn.Parameter(like),
            torch.zeros(2, 3, device="meta"),
        )
        return Guards if check(torch.ones(2, 3)) and not any(check(t) for t in (*others, *more)) else None
    except Exception:
        return None


TensorGuards = _guards()
