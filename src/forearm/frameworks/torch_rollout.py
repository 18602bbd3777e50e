"""`k.torch.simulate`:
rollouts of many arms on tensors, differentiated in reverse mode by a separate kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isqrt
from typing import Any

import torch

from forearm.errors import InputError
from forearm.frameworks.torch_arguments import as_parameters, as_tensors, check_tensor
from forearm.frameworks.torch_evaluation import PARAMETERS, Evaluation, Tensor, TensorKernel
from forearm.frameworks.torch_operator import OPERATOR, evaluate, is_compiling
from forearm.kernels.batch_rollout import Rollout
from forearm.kernels.compiled import Slot
from forearm.kernels.rollout_arguments import RolloutPlan, check_driving, plan_of

ONLY_BACKWARDS = (
    "k.torch.simulate: rollouts support reverse mode only, once: use .backward(), torch.autograd.grad, "
    "torch.func.grad or jacrev; for other derivatives, write the steps with k.torch.forward_dynamics."
)


class RolloutEvaluation(Evaluation):
    """A rollout, or its gradient, as an evaluation: initial states, drive array, weights of the resulting
    states, parameters. All arms may share the drive array.
    """

    def __init__(
        self, kernel: TensorKernel, token: str, name: str, derived: tuple[str, ...], plan: RolloutPlan
    ) -> None:
        super().__init__(kernel, token, (name,), derived)
        self.plan = plan
        self.shareable = (2, -1) if self.is_open else (2,)
        _, self.what, how, *_ = name.split(" ")
        self._by_step = how == "steps"

    @property
    def _slots(self) -> tuple[tuple[Slot, ...], tuple[Slot, ...]]:
        n, plan = self.kernel.kernel.arm.n, self.plan
        inputs = [Slot("q0", (n,)), Slot("qd0", (n,))]
        inputs.append(Slot(self.what, (plan.steps, n) if self._by_step else (n,)))
        opened = [Slot(PARAMETERS, (len(self.kernel.kernel.parameters),))] if self.is_open else []
        left = plan.result((), n)
        if not self.derived:
            return (*inputs, *opened), (Slot("q", left), Slot("qd", left))
        weights = [Slot("q_weight", left), Slot("qd_weight", left)]
        return (*inputs, *weights, *opened), (*inputs, *opened)

    def empty(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Uninitialised results."""
        return [tensors[0].new_empty((*self.batch_of(tensors), *slot.shape)) for slot in self.outputs]

    def then(self, way: str) -> Evaluation:
        """The gradient."""
        if self.derived or way != "reverse":
            raise InputError(ONLY_BACKWARDS)
        return rollout_of(self.kernel, self.names[0], (way,))

    def __call__(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The results, in new tensors."""
        batch, n, count = self.batch_of(tensors), self.kernel.kernel.arm.n, len(self.inputs)
        flat = [
            t.detach().reshape(-1, *slot.shape)
            if k not in self.shareable and k - count not in self.shareable
            else t
            for k, (slot, t) in enumerate(zip(self.inputs, tensors, strict=True))
        ]
        rows = flat[0].shape[0]
        drive, parameters = tensors[2].detach(), tensors[-1].detach() if self.is_open else None
        steps = self.plan.steps if self._by_step else 1
        if parameters is not None:
            parameters = parameters.reshape(rows, -1) if parameters.ndim > 1 else parameters
        given = {
            self.what: drive.reshape(-1, steps, n),
            "steps": self.plan.steps,
            "step": self.plan.h,
            "method": self.plan.method,
        }
        if not rows:
            return self.empty(tensors)
        run = self._gradient if self.derived else self._run
        made = run(tensors[0].device, flat, given, parameters)
        return [t.reshape(*batch, *slot.shape) for t, slot in zip(made, self.outputs, strict=True)]

    def _run(
        self, device: Any, flat: Sequence[Tensor], given: Mapping[str, Any], parameters: Tensor | None
    ) -> list[Tensor]:
        record = self.plan.record or None
        if device.type == "cpu":
            arrays = {
                k: v.contiguous().numpy() if isinstance(v, torch.Tensor) else v for k, v in given.items()
            }
            values = None if parameters is None else parameters.contiguous().numpy()
            made = self.kernel.on(device).simulate(
                *(t.contiguous().numpy() for t in flat[:2]), **arrays, record=record, parameters=values
            )
            return [torch.from_numpy(x) for x in made]
        there: Any = self.kernel.on(device)
        return list(there.simulate(*flat[:2], **given, record=record, parameters=parameters))

    def _gradient(
        self, device: Any, flat: Sequence[Tensor], given: Mapping[str, Any], parameters: Tensor | None
    ) -> list[Tensor]:
        """Repeat the rollout with recorded states, spaced for the least memory, and propagate backwards."""
        kernel: Any = self.kernel.on(device)
        record = self.plan.record or max(1, isqrt(self.plan.steps))

        def ready(tensor: Tensor) -> Any:
            return tensor.contiguous().numpy() if device.type == "cpu" else tensor.contiguous()

        # One row per arm, so that each has a separate gradient.
        rows, drive = len(flat[0]), given[self.what]
        told = {**given, self.what: ready(drive.expand(rows, *drive.shape[1:])), "record": record}
        told["parameters"] = None if parameters is None else ready(parameters.expand(rows, -1))
        q0, qd0, q_weight, qd_weight = (ready(flat[k]) for k in (0, 1, 3, 4))
        states = kernel.simulate(q0, qd0, **told)
        made = kernel.simulate_gradient((states.q, states.qd), (q_weight, qd_weight), **told)
        return [torch.from_numpy(x) if device.type == "cpu" else x for x in made if x is not None]


def rollout_of(kernel: TensorKernel, name: str, derived: tuple[str, ...] = ()) -> Evaluation:
    """The evaluation that a name describes: simulate, drive, mode, method, steps, step, record."""
    _, _, _, method, steps, step, record = name.split(" ")
    plan = RolloutPlan(int(steps), float.fromhex(step), method, int(record))
    token = "/".join([kernel.key, name, *derived])
    return kernel.kept(token, lambda: RolloutEvaluation(kernel, token, name, derived, plan))


def simulate(
    kernel: TensorKernel,
    states: tuple[Tensor, Tensor],
    plan: tuple[int, float, str, int | None],
    driving: Mapping[str, Tensor | None],
    parameters: Tensor | Mapping[str, Tensor] | None,
) -> Rollout:
    """Simulate as in `k.torch.simulate`."""
    n, run = kernel.kernel.arm.n, plan_of(*plan)
    what = check_driving(driving)
    tensors = as_tensors(kernel, (("q0", (n,)), ("qd0", (n,))), states)
    batch = tuple(tensors[0].shape[:-1]) or _arms(driving[what], parameters, run.steps)
    tensors = [t.expand(*batch, n) for t in tensors]
    drive, by_step = _drive(kernel, what, driving[what], tensors[0], batch, run.steps)
    tensors.append(drive)
    if kernel.kernel.parameters or parameters is not None:
        tensors.append(as_parameters(kernel, batch, tensors[0], parameters))
    how = "steps" if by_step else "held"
    name = f"simulate {what} {how} {run.method} {run.steps} {run.h.hex()} {run.record}"
    if is_compiling():  # by its name alone, as Python compilers cannot follow how evaluations are cached
        q, qd = OPERATOR(f"{kernel.key}/{name}", tensors)
    else:
        q, qd = evaluate(rollout_of(kernel, name), tensors)
    return Rollout(q, qd)


def _arms(drive: Any, parameters: Any, steps: int) -> tuple[int, ...]:
    """The number of arms that start from a single initial state: the rows of the drive array, or of
    parameters; rows for all steps belong to one arm.
    """
    shape = tuple(getattr(drive, "shape", ()))
    by_step = (len(shape) > 1 and shape[-2] == steps) or (len(shape) > 2 and shape[-2] == 1)
    rows = [shape[: -2 if by_step else -1]]
    if isinstance(parameters, Mapping):
        rows += [tuple(getattr(value, "shape", ())) for value in parameters.values()]
    elif parameters is not None:
        rows.append(tuple(getattr(parameters, "shape", ()))[:-1])
    return max(rows, key=len)


def _drive(
    kernel: TensorKernel, what: str, given: Tensor | None, first: Tensor, batch: tuple[int, ...], steps: int
) -> tuple[Tensor, bool]:
    """Torques or voltages, (n,) or (steps, n) for all arms or a row of that for each;
    and whether they are given by step.
    """
    n = kernel.kernel.arm.n
    if given is None or isinstance(given, int | float):
        return first.new_full((n,), given or 0.0), False
    check_tensor(kernel, what, given, first, "q0")
    shape = tuple(given.shape)
    if shape == (steps, n) == (*batch, n) and steps > 1:
        raise InputError(
            f"{shape} is ambiguous: one row per arm or one per step, as there are {steps} of "
            f"both; give ({steps}, 1, {n}) or (1, {steps}, {n}).",
            what,
        )
    if shape in ((n,), (*batch, n)):
        return given, False
    if shape in ((steps, n), (*batch, steps, n)):
        return given, True
    if shape == (*(1 for _ in batch), steps, n):
        return given.reshape(steps, n), True
    if shape == (*batch, 1, n):
        return given.reshape(*batch, n), False
    raise InputError(
        f"expected shape ({n},) or {(*batch, n)} held, ({steps}, {n}) or {(*batch, steps, n)} "
        f"by step, got {shape}.",
        what,
    )
