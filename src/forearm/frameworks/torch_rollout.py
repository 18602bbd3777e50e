"""`k.torch.simulate`:
rollouts of many arms on tensors, differentiated in reverse mode by a separate kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isqrt
from typing import Any

import torch

from forearm.errors import InputError
from forearm.frameworks.torch_arguments import as_parameters, as_tensors, check_tensor
from forearm.frameworks.torch_evaluation import PARAMETERS, Evaluation, Tensor, TensorKernel
from forearm.frameworks.torch_operator import OPERATOR, evaluate, is_compiling
from forearm.kernels.batch_rollout import Rollout
from forearm.kernels.compiled import Names, Shape, Slot
from forearm.kernels.rollout_arguments import RolloutDrive, RolloutPlan, ambiguous, plan_of

ONLY_BACKWARDS = (
    "k.torch.simulate: rollouts support reverse mode only, once: use .backward(), torch.autograd.grad, "
    "torch.func.grad or jacrev; for other derivatives, write the steps with k.torch.forward_dynamics."
)


class RolloutEvaluation(Evaluation):
    """A rollout, or its gradient, as an evaluation: initial states, drive array, weights of the resulting
    states, parameters. All arms may share the drive array.
    """

    def __init__(
        self, kernel: TensorKernel, token: str, name: str, derived: Names, plan: RolloutPlan
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
        batch, count, plan = self.batch_of(tensors), len(self.inputs), self.plan
        flat = [
            t.detach()
            if k in self.shareable or k - count in self.shareable
            else t.detach().reshape(-1, *slot.shape)
            for k, (slot, t) in enumerate(zip(self.inputs, tensors, strict=True))
        ]
        rows, device = flat[0].shape[0], tensors[0].device
        if not rows:
            return self.empty(tensors)
        shape = self.inputs[2].shape
        drive = flat[2].reshape(-1, *((1,) if len(shape) == 1 else ()), *shape)
        parameters = flat[-1] if self.is_open else None
        if parameters is not None and parameters.ndim > 1:
            parameters = parameters.reshape(rows, -1)
        kernel, is_host = self.kernel.on(device), device.type == "cpu"

        def ready(tensor: Tensor) -> Any:
            return tensor.contiguous().numpy() if is_host else tensor.contiguous()

        if self.derived:  # one row per arm, so that each has a separate gradient
            drive = drive.expand(rows, *drive.shape[1:])
            parameters = None if parameters is None else parameters.expand(rows, -1)
        given = {self.what: ready(drive), "parameters": None if parameters is None else ready(parameters)}
        if self.derived:
            # Repeated with recorded states, spaced for the least memory, and propagated backwards.
            given["plan"] = replace(plan, record=plan.record or max(1, isqrt(plan.steps)))
            q0, qd0, *weights = (ready(flat[k]) for k in (0, 1, 3, 4))
            states: Any = kernel.simulate(q0, qd0, **given)
            made: Any = kernel.simulate_gradient((states.q, states.qd), weights, **given)
        else:
            made = kernel.simulate(*map(ready, flat[:2]), plan=plan, **given)
        results = [torch.from_numpy(x) if is_host else x for x in made if x is not None]
        return [t.reshape(*batch, *slot.shape) for t, slot in zip(results, self.outputs, strict=True)]


def rollout_of(kernel: TensorKernel, name: str, derived: Names = ()) -> Evaluation:
    """The evaluation that a name describes: simulate, drive, mode, method, steps, step, record."""
    _, _, _, method, steps, step, record = name.split(" ")
    plan = plan_of(int(steps), float.fromhex(step), method, int(record) or None)
    token = "/".join([kernel.key, name, *derived])
    return kernel.kept(token, lambda: RolloutEvaluation(kernel, token, name, derived, plan))


def simulate(
    kernel: TensorKernel,
    states: tuple[Tensor, Tensor],
    run: Mapping[str, Any],
    driving: Mapping[str, Tensor | None],
    parameters: Tensor | Mapping[str, Tensor] | None,
) -> Rollout:
    """Simulate as in `k.torch.simulate`."""
    if not is_compiling():  # Python compilers cannot follow records; then it is checked when it runs
        RolloutPlan(**run), RolloutDrive(**driving)
    n, steps = kernel.kernel.arm.n, run["steps"]
    what = "torque" if driving["voltage"] is None else "voltage"
    given = driving[what]
    tensors = as_tensors(kernel, (("q0", (n,)), ("qd0", (n,))), states)
    batch = tuple(tensors[0].shape[:-1]) or _arms(given, parameters, steps)
    tensors = [t.expand(*batch, n) for t in tensors]
    u, by_step = _drive(kernel, what, given, tensors[0], batch, steps)
    tensors.append(u)
    if kernel.kernel.parameters or parameters is not None:
        tensors.append(as_parameters(kernel, batch, tensors[0], parameters))
    how = "steps" if by_step else "held"
    method, record = run.get("method", "rk4"), run.get("record") or 0
    name = f"simulate {what} {how} {method} {steps} {float(run['step']).hex()} {record}"
    if is_compiling():  # by its name alone, as Python compilers cannot follow how evaluations are cached
        q, qd = OPERATOR(f"{kernel.key}/{name}", tensors)
    else:
        q, qd = evaluate(rollout_of(kernel, name), tensors)
    return Rollout(q, qd)


def _arms(drive: Any, parameters: Any, steps: int) -> Shape:
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
    kernel: TensorKernel, what: str, given: Tensor | None, first: Tensor, batch: Shape, steps: int
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
        raise ambiguous(what, shape, steps, n)
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
