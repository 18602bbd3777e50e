"""The functions of a kernel for JAX: arguments are checked and broadcast here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from forearm.codegen.functions import FUNCTIONS
from forearm.errors import InputError, NameNotFound, shorten
from forearm.frameworks.jax_arguments import as_number, parameter_values
from forearm.kernels.compiled import Names, Shape
from forearm.kernels.dispatch import refuse
from forearm.kernels.function_names import check_precision
from forearm.kernels.kernel import Kernel
from forearm.kernels.rollout_arguments import RolloutDrive, RolloutPlan, required
from forearm.records import flat
from forearm.values import check_choice

if TYPE_CHECKING:
    from forearm.frameworks.jax_primitive import DerivedFunction
    from forearm.kernels.batch_rollout import Rollout

OLDEST = (0, 7)  # first JAX version whose XLA interface is used here


class JaxFunctions:
    """Every function of a kernel for JAX arrays, by its name: k.jax.inverse_dynamics(q, qd, qdd).

    They accept arrays (..., n) with any leading axes, broadcast as in NumPy, of the kernel's dtype; all
    arguments but the first may also be scalars. jit, grad, jvp, jacfwd, jacrev, hessian, vmap and lax.scan
    work, on CPUs and on NVIDIA GPUs. If parameters were left open, `parameters` are their values, (P,) or
    (..., P), or some of them by name (None: the arm's own).
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._functions: dict[Names, JaxFunction] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.kernel, "jax")

    def __repr__(self) -> str:
        return f"<functions for JAX of {self.kernel!r}>"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *FUNCTIONS]

    def __getattr__(self, name: str) -> JaxFunction:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            check_choice(name, FUNCTIONS, "k.jax")
        except NameNotFound as error:
            raise AttributeError(str(error)) from None
        made = self.__dict__[name] = self._function((name,))  # found as a plain attribute from now on
        return made

    def fused(self, functions: Iterable[str]) -> JaxFunction:
        """Several functions as one, with common subexpressions computed once; returns a dictionary by output.

        Args:
            functions: names of those that `fa.generate` knows.
        """
        names = [functions] if isinstance(functions, str) else list(functions)
        if not names:
            raise InputError(
                "expected the names of functions, such as ['inverse_dynamics', 'jacobian'].", "fused"
            )
        for name in names:
            check_choice(name, FUNCTIONS, "fused, function")
        return self._function(tuple(dict.fromkeys(names)), by_name=True)

    @flat(plan=RolloutPlan)
    def simulate(
        self,
        q0: Any,
        qd0: Any,
        *,
        plan: RolloutPlan | None = None,
        torque: Any = None,
        voltage: Any = None,
        parameters: Any = None,
    ) -> Rollout:
        """Simulate many arms as in `Kernel.simulate`;
        differentiable in reverse mode for arms without dry friction.

        Args:
            q0, qd0: joint coordinates and velocities at the start, (..., n); as is the result, or (...,
                records, n).
            plan: the following options as a record.
            torque, voltage: N m (N), or V: (..., n) held, or (..., steps, n) held over each step.
            parameters: values of the open parameters.
        """
        from forearm.frameworks.jax_rollout import simulate

        drive = RolloutDrive(torque=torque, voltage=voltage)
        return simulate(self.kernel, (q0, qd0), required(plan), drive, parameters)

    def _function(self, names: Names, by_name: bool = False) -> JaxFunction:
        key = (*names, "by name") if by_name else names
        return self._functions.setdefault(key, JaxFunction(self.kernel, names, by_name))


class JaxFunction:
    """A function of an arm for JAX arrays; created by `k.jax`."""

    def __init__(self, kernel: Kernel, names: Names, by_name: bool) -> None:
        check_precision(names, kernel.dtype)
        self.kernel, self.names, self.by_name = kernel, names, by_name
        self.__name__ = "_and_".join(names)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.by_name:
            return JaxFunctions.fused, (self.kernel.jax, self.names)
        return getattr, (self.kernel.jax, self.names[0])

    def __repr__(self) -> str:
        return f"<{self.__name__}({', '.join(self.inputs)}) of {self.kernel.arm.name!r} for JAX>"

    @property
    def inputs(self) -> dict[str, Shape]:
        """Shapes of the arguments for one state, in order, by name."""
        return {slot.name: slot.shape for slot in self._derived.inputs}

    @property
    def outputs(self) -> dict[str, Shape]:
        """Shapes of the results for one state, in order, by name."""
        return {slot.name: slot.shape for slot in self._derived.outputs}

    def __call__(self, *states: Any, parameters: Any = None, **named: Any) -> Any:
        """The output, (..., *shape), or a tuple of all outputs, or for fused functions a dictionary by name.

        Args:
            states: the `inputs`, in order or by name, (..., *shape) each.
            parameters: values of the open parameters.
        """
        if named or len(states) != self._count:
            states = tuple(self._ordered(states, named))
        arrays = [x if hasattr(x, "shape") else self._as_array(k, x) for k, x in enumerate(states)]
        return self._jitted(*arrays, parameters=parameters)

    @cached_property
    def _derived(self) -> DerivedFunction:
        from forearm.frameworks.jax_primitive import DerivedFunction

        compiled = self.kernel.to("cpu").compiled(*self.names)
        compiled.part("single")  # inputs and outputs are known from here on
        inputs = compiled.inputs[: len(compiled.inputs) - bool(self.kernel.parameters)]
        return DerivedFunction(self.kernel, self.names, inputs, compiled.outputs)

    @cached_property
    def _count(self) -> int:
        return len(self._derived.inputs)

    @cached_property
    def _jitted(self) -> Any:
        import jax

        return jax.jit(self._evaluated, inline=True)

    def _ordered(self, states: Sequence[Any], named: dict[str, Any]) -> Sequence[Any]:
        """One value for each input, in order."""
        names = list(self.inputs)
        by_name = dict(zip(names, states, strict=False)) | named
        if len(states) + len(named) != len(names) or set(by_name) != set(names):
            listed = [f"{len(states)} of them", *(f"{name}=" for name in named)]
            raise InputError(f"expected {', '.join(names)}, got {' and '.join(listed)}.", self.__name__)
        return [by_name[name] for name in names]

    def _as_array(self, place: int, value: Any) -> Any:
        """Numbers unchanged;
        lists, which may contain numbers traced by JAX, as arrays of the kernel's dtype.
        """
        import jax.numpy as jnp

        if isinstance(value, int | float):
            return value
        try:
            if not isinstance(value, list | tuple):
                raise TypeError
            try:
                return np.asarray(value, dtype=self.kernel.dtype)
            except TypeError:
                return jnp.asarray(value, dtype=self.kernel.dtype)
        except (TypeError, ValueError):
            name = list(self.inputs)[place]
            raise InputError(f"expected an array of real numbers, got {shorten(value)}.", name) from None

    def _evaluated(self, *states: Any, parameters: Any) -> Any:
        """Traced once for each set of shapes."""
        import jax.numpy as jnp

        function, dtype, leading = self._derived, self.kernel.dtype, dict[str, Shape]()
        rows: list[Any] = []
        for slot, state in zip(function.inputs, states, strict=True):
            row = as_number(self.kernel, slot.name, state)
            if row.ndim == 0 and rows:
                row = jnp.broadcast_to(row, slot.shape)
            if slot.name == "T" and row.shape[-2:] == (4, 4):
                row = row.reshape(*row.shape[:-2], *slot.shape)
            start = row.ndim - len(slot.shape)
            if start < 0 or row.shape[start:] != slot.shape:
                raise InputError(f"{self._expected(slot.shape, slot.name)}, got {row.shape}.", slot.name)
            leading[slot.name] = row.shape[:start]
            rows.append(row)
        values = [] if not self.kernel.parameters else [parameter_values(self.kernel, parameters)]
        if values and values[0].ndim > 1:
            leading["parameters"] = values[0].shape[:-1]
        elif not values:
            refuse(parameters)
        try:
            batch = np.broadcast_shapes(*leading.values())
        except ValueError:
            shapes = ", ".join(f"{name} {shape}" for name, shape in leading.items())
            raise InputError(f"leading axes do not broadcast: {shapes}.", self.__name__) from None
        rows = [
            jnp.broadcast_to(row, batch + slot.shape) for row, slot in zip(rows, function.inputs, strict=True)
        ]
        each = "parameters" in leading
        if each:
            values = [jnp.broadcast_to(values[0], (*batch, values[0].shape[-1]))]
        assert all(row.dtype == dtype for row in rows)
        made = function.bind(rows, values, each)
        if self.by_name:
            return dict(zip(self.outputs, made, strict=True))
        return made[0] if len(made) == 1 else tuple(made)

    def _expected(self, shape: Shape, name: str) -> str:
        if name == "T":
            return "expected poses of shape (..., 4, 4)"
        arm = self.kernel.arm
        why = f"{arm.name!r} has {arm.n} joints" if shape == (arm.n,) else f"it has {shape} for one state"
        return f"{why}, expected shape (..., {', '.join(map(str, shape))})"


@cache
def check_jax() -> None:
    """Raise InputError, with a remedy, if JAX is not installed or too old."""
    try:
        import jax
    except ImportError:
        raise InputError("JAX is not installed: pip install 'forearm[jax]'.", "k.jax") from None
    if jax.__version_info__ < OLDEST:
        raise InputError(
            f"expected JAX {'.'.join(map(str, OLDEST))} or later, got {jax.__version__}: pip "
            "install --upgrade 'forearm[jax]'.",
            "k.jax",
        )
