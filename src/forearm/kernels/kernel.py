"""The functions of an arm, compiled: one state or a batch, in NumPy arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError, missing_attribute
from forearm.kernels import fastcall
from forearm.kernels.arrays import Array, Three, Two, as_numbers, rows_of, several_of
from forearm.kernels.compiled import Compiled, CompileRequest, Names
from forearm.kernels.cpu import CPU, HOST, check_device, chosen
from forearm.kernels.dispatch import Call, Parameters, keywords, run
from forearm.kernels.function_names import ELASTIC, check_names, check_precision, open_parameters
from forearm.kernels.fused import Fused
from forearm.kernels.locks import making
from forearm.kernels.rollout_arguments import RolloutDrive, RolloutInputs, RolloutPlan, required
from forearm.kernels.thread_pool import WORTH
from forearm.records import filled, flat
from forearm.values import check_choice, names_in

if TYPE_CHECKING:
    from forearm.frameworks.jax_functions import JaxFunctions
    from forearm.frameworks.torch_functions import TorchFunctions
    from forearm.kernels.batch_rollout import Rollout
    from forearm.kernels.rollout_gradient import RolloutGradient
    from forearm.kinematics.numerical import NumericSolution
    from forearm.symbols.counts import Counts

DTYPES = ("float64", "float32")
T = TypeVar("T")


class CallOptions(TypedDict, Generic[T], total=False):
    """Options of every function of a kernel."""

    out: T | None
    threads: int | None
    parameters: Parameters | None


class NumericKeywords(TypedDict, total=False):
    """Options of numeric inverse kinematics."""

    position_only: bool
    limits: bool
    tolerance: float
    starts: int
    seed: int
    most_steps: int


def numeric_options(
    *,
    position_only: bool = False,
    limits: bool = True,
    tolerance: float = 1e-9,
    starts: int = 64,
    seed: int = 0,
    most_steps: int = 100,
) -> dict[str, Any]:
    """Options of numeric inverse kinematics by name."""
    return locals()


class Kernel:
    """An arm's functions, each compiled on its first call.
    Created by `fa.compile`; picklable and thread-safe.

    Every method accepts one state (n,) or a batch (B, n), broadcast as in NumPy; all arguments but the first
    may also be scalars. `out` is an array for the result, writeable, C-contiguous and of its shape and dtype
    (None: a new array); `threads` is the number of threads that share a batch (None: one per processor if the
    batch is large enough); `parameters` are values of the open parameters, (P,) for all states or (B, P), or
    some of them by name (None: the arm's own). NaN or infinity in a state makes all results of that state
    NaN.

    On a GPU, arrays are PyTorch's, CuPy's, JAX's or of any library with a device array protocol; results are
    allocated on the same device, and work is queued on the caller's current stream. NumPy arrays are copied
    to the device and back.

    Args:
        arm: the arm.
        dtype: "float64" or "float32".
        parameters: names of parameters left open.
        cpu: the target processor.
        device: "cpu", "cuda" or "cuda:1".
        fast: whether a GPU may use approximations that differ from the CPU's results.
    """

    def __init__(
        self,
        arm: Arm,
        dtype: str = "float64",
        parameters: tuple[str, ...] = (),
        cpu: str = HOST,
        device: str = CPU,
        fast: bool = False,
    ) -> None:
        self.arm, self.dtype, self.cpu, self.device, self.fast = arm, dtype, cpu, device, fast
        self.parameters = open_parameters(arm, parameters)
        self._dtype = np.dtype(dtype)
        self._made: dict[Names, Any] = {}  # Compiled, or DeviceCompiled
        self._elsewhere: dict[str, Kernel] = {}
        self._ordinary: list[Any] = []
        self._claims: dict[tuple[str, int], object] = {}
        self._torch: TorchFunctions | None = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return missing_attribute(self, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Kernel, (self.arm, self.dtype, tuple(self.parameters), self.cpu, self.device, self.fast)

    def __repr__(self) -> str:
        made = ", ".join(" + ".join(names) for names in self._made) or "nothing yet"
        where = "" if self.cpu == HOST else f", {self.cpu}"
        where += "" if self.device == CPU else f", {self.device}"
        return f"<Kernel of {self.arm.name!r}, {self.dtype}{where}, compiled: {made}>"

    def to(self, device: str) -> Kernel:
        """The same functions on another device.

        Args:
            device: "cpu", "cuda" or "cuda:1".
        """
        if device == self.device:
            return self
        found = self._elsewhere.get(device)
        if found is not None:
            return found
        fast = self.fast and check_device(device) != CPU
        made = Kernel(self.arm, self.dtype, tuple(self.parameters), self.cpu, device, fast)
        made._elsewhere[self.device] = self
        return self._elsewhere.setdefault(device, made)

    @property
    def counts(self) -> Mapping[str, Counts]:
        """Operations of one evaluation, by function; looking one up compiles it."""
        return _CountsByName(self)

    @property
    def torch(self) -> TorchFunctions:
        """The same functions on PyTorch tensors, with support for autograd, `torch.func` and `torch.compile`:
        `k.torch.inverse_dynamics(q, qd, qdd)`.
        """
        return self._torch or _torch_functions(self)

    @cached_property
    def jax(self) -> JaxFunctions:
        """The same functions on JAX arrays, with support for jit, grad, vmap and scan (extra `jax`)."""
        from forearm.frameworks.jax_functions import JaxFunctions, check_jax

        check_jax()
        return JaxFunctions(self)

    @keywords(Call)
    def inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, **options: Unpack[CallOptions[Array]]
    ) -> Array:
        """Joint torques, drives included: (n,) -> (n,), (B, n) -> (B, n).

        Args:
            q, qd, qdd: joint coordinates, velocities and accelerations, (n,) or (B, n).
            out, threads, parameters: as in every method of `Kernel`.
        """
        return self._results("inverse_dynamics", (q, qd, qdd), options)

    @keywords(Call)
    def forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, **options: Unpack[CallOptions[Array]]
    ) -> Array:
        """Joint accelerations, drives included.

        Args:
            q, qd: joint coordinates and velocities, (n,) or (B, n).
            tau: motor torques times gear ratio, (n,) or (B, n), N m (N).
            out, threads, parameters: as in every method of `Kernel`.
        """
        return self._results("forward_dynamics", (q, qd, tau), options)

    @keywords(Call)
    def inertia_matrix(self, q: ArrayLike, **options: Unpack[CallOptions[Array]]) -> Array:
        """M with the rotor inertias on its diagonal: (n, n) or (B, n, n).

        Args:
            q: joint coordinates, (n,) or (B, n).
            out, threads, parameters: as in every method of `Kernel`.
        """
        return self._results("inertia_matrix", (q,), options)

    @keywords(Call)
    def bias(self, q: ArrayLike, qd: ArrayLike, **options: Unpack[CallOptions[Array]]) -> Array:
        """Inverse dynamics at zero acceleration.

        Args:
            q, qd: joint coordinates and velocities, (n,) or (B, n).
            out, threads, parameters: as in every method of `Kernel`.
        """
        return self._results("bias", (q, qd), options)

    @keywords(Call)
    def gravity(self, q: ArrayLike, **options: Unpack[CallOptions[Array]]) -> Array:
        """Torques that hold the arm at rest against gravity.

        Args:
            q: joint coordinates, (n,) or (B, n).
            out, threads, parameters: as in every method of `Kernel`.
        """
        return self._results("gravity", (q,), options)

    @keywords(Call)
    def forward_kinematics(self, q: ArrayLike, **options: Unpack[CallOptions[Array]]) -> Array:
        """Pose of the hand in the base frame: (4, 4) or (B, 4, 4).

        Args:
            q: joint coordinates, (n,) or (B, n).
            out, threads, parameters: as in every method of `Kernel`.
        """
        return self._results("forward_kinematics", (q,), options)

    @keywords(Call)
    def jacobian(self, q: ArrayLike, **options: Unpack[CallOptions[Array]]) -> Array:
        """J at the hand's origin, linear rows first, base axes: (6, n) or (B, 6, n).

        Args:
            q: joint coordinates, (n,) or (B, n).
            out, threads, parameters: as in every method of `Kernel`.
        """
        return self._results("jacobian", (q,), options)

    def inverse_kinematics(self, T: ArrayLike, threads: int | None = None) -> Array:
        """All closed-form solutions for hand poses: (4, 4) -> (m, n), (B, 4, 4) -> (B, m, n).

        NaN where a branch does not exist or violates the limits. Branches that coincide at a singular pose
        are not merged; `fa.kinematics.inverse` merges them, and reports why there is no solution.

        Args:
            T: pose of the hand in the base frame, (4, 4) or (B, 4, 4).
            threads: as in every method of `Kernel`.
        """
        compiled = self.compiled("inverse_kinematics")
        poses: Any = as_numbers("T", T, self._dtype) if self.device == CPU or not hasattr(T, "reshape") else T
        if poses.ndim not in (2, 3) or poses.shape[-2:] != (4, 4):
            raise InputError(f"expected poses of shape (4, 4) or (B, 4, 4), got {poses.shape}.", "T")
        flat = poses.reshape(*poses.shape[:-2], 16)
        return self._run(compiled, (flat,), Call(self.parameters, None, threads))[0]

    @keywords(numeric_options)
    def inverse_numeric(
        self,
        T: ArrayLike,
        *,
        start: ArrayLike | None = None,
        link: str | None = None,
        threads: int | None = None,
        **options: Unpack[NumericKeywords],
    ) -> NumericSolution:
        """Joint coordinates that bring the hand, or a named link, to given poses, computed as in
        `fa.kinematics.inverse_numeric`; on a GPU with one thread per pose.

        Poses on a device are read in place, and the arrays of the result are on the same device.

        Args:
            T: pose in the base frame, (4, 4) or (B, 4, 4).
            start, link: as for `fa.kinematics.inverse_numeric`.
            threads: as in every method of `Kernel`.
            position_only, limits, tolerance, starts, seed, most_steps: as for
                `fa.kinematics.inverse_numeric`.
        """
        if self.dtype != "float64" or self.parameters:
            what = "float64" if not self.parameters else "an arm without open parameters"
            raise InputError(f"expected a kernel for {what}, got {self!r}.", "inverse_numeric")
        with making():
            from forearm.kinematics.numerical import NumericOptions, solve_numeric

        asked = filled(None, NumericOptions, dict(options), "inverse_numeric")
        if self.device == CPU:
            return solve_numeric(self.arm, T, start, link, asked, threads, self.cpu)
        with making():
            from forearm.kernels.cuda.device_reach import inverse_numeric

        return inverse_numeric(self, T, start, link, asked, threads, self._index)

    @keywords(Call)
    def inverse_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, **options: Unpack[CallOptions[Three]]
    ) -> Three:
        """(dtau/dq, dtau/dqd, M), each (n, n) or (B, n, n) with [i, j] = d tau_i / d x_j.

        Args:
            q, qd, qdd: joint coordinates, velocities and accelerations, (n,) or (B, n).
            out: three arrays for the results, as a tuple.
            threads, parameters: as in every method of `Kernel`.
        """
        return self._results("inverse_dynamics_derivatives", (q, qd, qdd), options, 3)

    @keywords(Call)
    def forward_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, **options: Unpack[CallOptions[Three]]
    ) -> Three:
        """(dqdd/dq, dqdd/dqd, inverse of M):
        -M^-1 times the derivatives of inverse dynamics at the resulting acceleration.

        Args:
            q, qd: joint coordinates and velocities, (n,) or (B, n).
            tau: motor torques times gear ratio, (n,) or (B, n), N m (N).
            out: three arrays for the results, as a tuple.
            threads, parameters: as in every method of `Kernel`.
        """
        return self._results("forward_dynamics_derivatives", (q, qd, tau), options, 3)

    @keywords(Call)
    def elastic_forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        theta: ArrayLike,
        thetad: ArrayLike,
        tau: ArrayLike,
        **options: Unpack[CallOptions[Two]],
    ) -> Two:
        """(qdd, thetadd): accelerations of links and motors of an arm with elastic joints.

        Args:
            q, qd: joint coordinates and velocities, (n,) or (B, n).
            theta, thetad: motor positions and velocities reflected to the joint, motor angle / N, (n,) or (B,
                n); values of rigid joints are ignored.
            tau: motor torques times gear ratio, (n,) or (B, n), N m (N).
            out: two arrays for the results, as a tuple.
            threads, parameters: as in every method of `Kernel`.
        """
        return self._results("elastic_forward_dynamics", (q, qd, theta, thetad, tau), options, 2)

    @keywords(Call)
    def elastic_inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        qddd: ArrayLike,
        qdddd: ArrayLike,
        deflection: ArrayLike | None = None,
        **options: Unpack[CallOptions[Three]],
    ) -> Three:
        """(tau, theta, thetad): motor torques, positions and velocities, reflected to the joint, for a motion
        of the links of an arm with elastic joints.

        Args:
            q, qd, qdd, qddd, qdddd: joint coordinates and their time derivatives, (n,) or (B, n).
            deflection: theta - q of joints whose springs have damping, (n,) or (B, n); its rate is thetad -
                qd; None: allowed only if there are no such joints.
            out: three arrays for the results, as a tuple.
            threads, parameters: as in every method of `Kernel`.
        """
        if deflection is None:
            damped = [j.name for j in self.arm.joints if j.elasticity is not None and j.elasticity.damping]
            if damped:
                raise InputError(
                    f"the springs of {', '.join(damped)} have damping, so their deflection is "
                    "a state; pass deflection, or use fa.dynamics.elastic_inverse_along.",
                    "elastic_inverse_dynamics",
                )
            deflection = 0.0
        given = (q, qd, qdd, qddd, qdddd, deflection)
        return self._results("elastic_inverse_dynamics", given, options, 3)

    @flat(plan=RolloutPlan, inputs=RolloutInputs)
    def simulate(
        self,
        q0: ArrayLike,
        qd0: ArrayLike,
        *,
        plan: RolloutPlan | None = None,
        inputs: RolloutInputs | None = None,
        out: tuple[Array, Array] | None = None,
        threads: int | None = None,
        parameters: Parameters | None = None,
    ) -> Rollout:
        """Simulate many arms, each from its own state, in one call, with the fixed steps of `fa.simulate`:
        friction, joints that stick, motors and gears included.

        At most one of torque, voltage and controller drives the arms; without any, torques are zero.

        Args:
            q0, qd0: joint coordinates and velocities at the start, (n,) or (B, n).
            plan, inputs: the following options as records.
            out: arrays for q and qd.
            threads, parameters: as in every method of `Kernel`.
        """
        with making():
            from forearm.kernels.batch_rollout import simulate

        plan, inputs = required(plan), inputs or RolloutInputs()
        call = Call(self.parameters, out, threads, parameters)
        if self.device == CPU:
            return simulate(self, (q0, qd0), plan, inputs, call)
        with making():
            from forearm.kernels.cuda.device_rollout import simulate as simulate_on_device

        return simulate_on_device(self, (q0, qd0), plan, inputs, call, self._index)

    @flat(plan=RolloutPlan, drive=RolloutDrive)
    def simulate_gradient(
        self,
        states: tuple[ArrayLike, ArrayLike],
        weights: tuple[ArrayLike, ArrayLike],
        *,
        plan: RolloutPlan | None = None,
        drive: RolloutDrive | None = None,
        threads: int | None = None,
        parameters: Parameters | None = None,
    ) -> RolloutGradient:
        """Reverse-mode gradients, with respect to what `simulate` was given, of the weighted sum of the
        states that it returned; no Jacobian is formed. Only for arms without dry friction, which can hold a
        joint.

        The states between recorded ones are recomputed; `record`, which is required, must be a multiple of
        the controller's period.

        Args:
            states: q and qd as `simulate` returns them with this `record`, (records, n) or (B, records, n).
            weights: of q and qd: of the final state, (n,) or (B, n), or of all recorded states.
            plan, drive: the following options as records, as passed to `simulate`.
            threads, parameters: as in every method of `Kernel`.
        """
        with making():
            from forearm.kernels.rollout_gradient import checked, run_on_host, simulate_gradient

        plan, drive = required(plan), drive or RolloutDrive()
        driven = checked(self, plan, drive, states, weights)
        if self.device == CPU:
            on_host = partial(run_on_host, threads=threads)
            return simulate_gradient(self, states, weights, plan, driven, parameters, on_host)
        with making():
            from forearm.kernels.cuda.device_rollout_gradient import gradient_on_device

        call = Call(self.parameters, None, threads, parameters)
        return gradient_on_device(self, states, weights, plan, driven, call, self._index)

    def fused(self, functions: Iterable[str]) -> Fused:
        """Several functions compiled as one, with common subexpressions computed once:
        any of those that `fa.generate` knows.
        """
        names = names_in(functions, "fused")
        if not names:
            raise InputError(
                "expected the names of functions, such as ['inverse_dynamics', 'inertia_matrix'].", "fused"
            )
        return Fused(self, self.compiled(*dict.fromkeys(names)), self._run)

    def casadi(
        self, function: str | Iterable[str], file: str | os.PathLike[str] | None = None, derivatives: int = 2
    ) -> Any:
        """A `casadi.Function` of machine code, with derivatives as machine code: for MX expressions, Opti,
        integrators and solvers (extra `casadi`). Inputs and outputs have the same names as here, and
        `parameters` are the last input if some are open.

        Args:
            function: a name that `fa.generate` knows, or several, compiled as one function.
            file: where to save the shared object, for `casadi.external("inverse_dynamics", "./panda.so")`
                without forearm; None: not saved.
            derivatives: 2 for Jacobians and Hessians, 1 for Jacobians only, 0 for none.
        """
        from forearm.frameworks.casadi_external import casadi_function

        return casadi_function(self, function, file, derivatives)

    def compiled(self, *names: str, derived: Names = ()) -> Any:
        """A function by name, or several as one, compiled on the first call.
        A `Compiled`, or for a GPU a `DeviceCompiled`.

        Args:
            names: those that `fa.generate` knows.
            derived: modes of `codegen.differentiated` applied in turn.
        """
        found = self._made.get((*names, *derived))
        if found is not None:
            return found
        check_names(names)
        check_precision(names, self.dtype)
        request = CompileRequest(self.arm, names, self.dtype, tuple(self.parameters), self.cpu, derived)
        if self.device == CPU:
            return self._made.setdefault((*names, *derived), Compiled(request))
        with making():
            from forearm.kernels.cuda.device_compiled import DeviceCompiled

        return self._made.setdefault((*names, *derived), DeviceCompiled(request, self._index, self.fast))

    @property
    def _index(self) -> int:
        """The index of its GPU."""
        return int(self.device.partition(":")[2] or 0)

    @cached_property
    def _run(self) -> Callable[[Any, tuple[ArrayLike, ...], Call], list[Array]]:
        """Call a function on the device where its arrays are."""
        if self.device == CPU:
            return run
        with making():
            from forearm.kernels.cuda.dispatch import run as run_on_device

        return partial(run_on_device, index=self._index)

    def _results(self, name: str, given: tuple[ArrayLike, ...], options: CallOptions[T], count: int = 1) -> T:
        """The result of a function by name, or a tuple of several."""
        others: dict[str, Any] = {**options}
        out = others.pop("out", None)
        if out is not None:
            out = [out] if count == 1 else several_of(out, count)
        call = Call(self.parameters, out, **others)
        made: Any = self._run(self._function(name, given), given, call)
        results: Any = made[0] if count == 1 else tuple(made)
        return results  # type: ignore[no-any-return]

    def _function(self, name: str, given: tuple[ArrayLike, ...]) -> Any:
        """The function by name;
        where batches are small, Python calls the machine code directly from now on.
        """
        function = self._made.get((name,)) or self.compiled(name)
        if self.device != CPU:
            if name not in self.__dict__ and not self.parameters:
                from forearm.kernels.cuda.short_call import direct_method

                setattr(self, name, direct_method(function, getattr(type(self), name).__get__(self)))
            return function
        # Users of large batches need not wait for the code of a single state.
        if name not in self.__dict__ and not self.parameters and rows_of(given[0]) < WORTH:
            self._call_directly(name, function)
        return function

    def _call_directly(self, name: str, function: Compiled) -> None:
        if not (single := function.part("single")).entry:
            return
        # One thread of each process fills the table; until then, others use the ordinary method.
        mine = object()
        if self._claims.setdefault((name, os.getpid()), mine) is not mine:
            return
        try:
            ordinary = getattr(type(self), name).__get__(self)
            self._ordinary.append(ordinary)  # referenced by the table
            fastcall.fill(single.table, self._dtype, ordinary)
            setattr(self, name, fastcall.callable_at(single.entry, name, self))
        finally:
            if name not in self.__dict__:  # interrupted: a later call will do it
                del self._claims[name, os.getpid()]


def _torch_functions(kernel: Kernel) -> TorchFunctions:
    if find_spec("torch") is None:
        raise InputError("k.torch needs PyTorch, which is not installed: pip install 'forearm[torch]'.")
    from forearm.frameworks.torch_functions import TorchFunctions

    kernel._torch = TorchFunctions(kernel)
    return kernel._torch


# torch.compile cannot trace into this, and says so.
vars(_torch_functions).update(
    _torchdynamo_disable=True, _torchdynamo_disable_msg="access k.torch once before torch.compile"
)


class _CountsByName(Mapping[str, "Counts"]):
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def __getitem__(self, name: str) -> Counts:
        counts: Counts = self.kernel.compiled(name).counts
        return counts

    def __iter__(self) -> Iterator[str]:
        from forearm.codegen.elastic import offered
        from forearm.codegen.functions import FUNCTIONS
        from forearm.codegen.inverse_kinematics import can_be_written

        left_out = set(ELASTIC) - set(offered(self.kernel.arm))
        if not can_be_written(self.kernel.arm) or self.kernel.parameters:
            left_out.add("inverse_kinematics")
        return (name for name in FUNCTIONS if name not in left_out)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<counts of {self.kernel.arm.name!r} by name: {', '.join(self)}>"


def compile(
    arm: Arm,
    dtype: str | type[np.floating[Any]] | np.dtype[Any] = "float64",
    device: str = "cpu",
    parameters: str | Iterable[str] = (),
    cpu: str | None = None,
    fast: bool = False,
) -> Kernel:
    """The arm's functions as machine code, each compiled on its first call.

    Args:
        arm: the arm.
        dtype: "float64" or "float32", or a NumPy dtype.
        device: "cpu", or an NVIDIA GPU: "cuda", "cuda:1". Every function returns the same bits there as on a
            CPU with fused multiply-add.
        parameters: parameters left open, passed with each call: "link6.mass", "link6", "gravity.z",
            "joint2.friction", "joint2.motor", "drives", or "all", as for `fa.generate`.
        cpu: "host", this machine's own; code for "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4" or "generic"
            returns the same bits on every machine that runs it. None: FOREARM_CPU if set, else "host".
        fast: only for a GPU and float32: sines and quotients by the GPU's own approximations, with errors
            some thousand times the rounding error, and different bits than on the CPU.
    """
    check_arm(arm, "compile", moves=True)
    if isinstance(dtype, type) and issubclass(dtype, np.floating):
        dtype = np.dtype(dtype)
    check_choice(str(dtype) if isinstance(dtype, np.dtype) else dtype, DTYPES, "compile, dtype")
    check_device(device)
    if fast and (device == CPU or np.dtype(dtype) != np.float32):
        raise InputError(
            f"only available for float32 on a GPU, got {np.dtype(dtype)} on {device!r}; leave it out.",
            "compile",
            "fast",
        )
    names = tuple(names_in(parameters, "compile, parameters"))
    return Kernel(arm, str(np.dtype(dtype)), names, chosen(cpu), device, bool(fast))
