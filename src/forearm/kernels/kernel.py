"""The functions of an arm, compiled: one state or many, in NumPy arrays."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError, NameNotFound, shorten, suggest
from forearm.kernels import direct
from forearm.kernels.compiled import Compiled, Request, Slot
from forearm.kernels.sharing import WORK, WORTH, shared_rows, worker_count

if TYPE_CHECKING:
    from forearm.symbols.counts import Counts

DTYPES = ("float64", "float32")
LONGEST_TRACED = 10  # joints: derivatives of longer arms, written out, take too many seconds to compile
AT_ONCE = 1 << 16  # states whose arrays are converted together
Array = NDArray[Any]
Parameters = Mapping[str, ArrayLike] | ArrayLike


class Kernel:
    """An arm's functions compiled when they are first called. Made by `fa.compile`; may be pickled and shared by threads.

    Arguments are (n,) for one state or (B, n) for many, all of one shape; results are new arrays unless `out` is given. NaN or
    infinity in a state makes everything of that state NaN. `parameters` are values for those left open, (P,) for all states or
    (B, P) one row a state, or a table of some of them by name; the arm's own where nothing is given.
    """

    def __init__(self, arm: Arm, dtype: str = "float64", parameters: tuple[str, ...] = ()) -> None:
        self.arm, self.dtype = arm, dtype
        self.parameters = _open(arm, parameters)
        self._dtype = np.dtype(dtype)
        self._made: dict[tuple[str, ...], Compiled] = {}
        self._ordinary: list[Any] = []
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Kernel, (self.arm, self.dtype, tuple(self.parameters))

    def __repr__(self) -> str:
        made = ", ".join(" + ".join(names) for names in self._made) or "nothing yet"
        return f"<Kernel of {self.arm.name!r}, {self.dtype}, compiled: {made}>"

    @property
    def counts(self) -> Mapping[str, Counts]:
        """Operations of one evaluation, by function; asking for one compiles it."""
        return _CountsByName(self)

    def inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, out: Array | None = None, threads: int | None = None,
        *, parameters: Parameters | None = None,
    ) -> Array:  # fmt: skip
        """Torques, drives included: (n,) -> (n,), (B, n) -> (B, n)."""
        return self._one("inverse_dynamics", (q, qd, qdd), out, threads, parameters)

    def forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, out: Array | None = None, threads: int | None = None,
        *, parameters: Parameters | None = None,
    ) -> Array:  # fmt: skip
        """Accelerations, drives included."""
        return self._one("forward_dynamics", (q, qd, tau), out, threads, parameters)

    def inertia_matrix(
        self, q: ArrayLike, out: Array | None = None, threads: int | None = None, *, parameters: Parameters | None = None
    ) -> Array:
        """M with the rotors on its diagonal: (n, n) or (B, n, n)."""
        return self._one("inertia_matrix", (q,), out, threads, parameters)

    def bias(
        self, q: ArrayLike, qd: ArrayLike, out: Array | None = None, threads: int | None = None,
        *, parameters: Parameters | None = None,
    ) -> Array:  # fmt: skip
        """Inverse dynamics without acceleration."""
        return self._one("bias", (q, qd), out, threads, parameters)

    def gravity(
        self, q: ArrayLike, out: Array | None = None, threads: int | None = None, *, parameters: Parameters | None = None
    ) -> Array:
        """Torques that hold the arm still."""
        return self._one("gravity", (q,), out, threads, parameters)

    def forward_kinematics(
        self, q: ArrayLike, out: Array | None = None, threads: int | None = None, *, parameters: Parameters | None = None
    ) -> Array:
        """The hand in the base frame: (4, 4) or (B, 4, 4)."""
        return self._one("forward_kinematics", (q,), out, threads, parameters)

    def jacobian(
        self, q: ArrayLike, out: Array | None = None, threads: int | None = None, *, parameters: Parameters | None = None
    ) -> Array:
        """J at the hand's origin, linear rows first, base axes: (6, n) or (B, 6, n)."""
        return self._one("jacobian", (q,), out, threads, parameters)

    def inverse_kinematics(self, T: ArrayLike, threads: int | None = None) -> Array:
        """Every closed-form branch of poses of the hand: (4, 4) -> (m, n), (B, 4, 4) -> (B, m, n).

        NaN where a branch does not exist or leaves the limits. Branches that meet at a singular pose are not told apart;
        `fa.kinematics.inverse` does that, and says why there are none.
        """
        if self.dtype != "float64":
            raise InputError("inverse_kinematics: branches are told apart by forward kinematics to 1e-7, which takes float64.")
        poses = self._numbers("T", T)
        if poses.ndim not in (2, 3) or poses.shape[-2:] != (4, 4):
            raise InputError(f"T: poses have the shape (4, 4) or (B, 4, 4); came {poses.shape}.")
        flat = poses.reshape(*poses.shape[:-2], 16)
        return self._run(self.compiled("inverse_kinematics"), (flat,), None, threads, None)[0]

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, threads: int | None = None, *, parameters: Parameters | None = None
    ) -> tuple[Array, Array, Array]:
        """(dtau/dq, dtau/dqd, M), each (n, n) or (B, n, n) with [i, j] = d tau_i / d x_j."""
        if self._is_long:
            _refuse(parameters)
            return self._long_inverse_derivatives(q, qd, qdd, threads)
        by_q, by_qd, M = self._several("inverse_dynamics_derivatives", (q, qd, qdd), threads, parameters)
        return by_q, by_qd, M

    def forward_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, threads: int | None = None, *, parameters: Parameters | None = None
    ) -> tuple[Array, Array, Array]:
        """(dqdd/dq, dqdd/dqd, inverse of M): -M^-1 times the derivatives of inverse dynamics at the resulting acceleration."""
        if self._is_long:
            _refuse(parameters)
            by_q, by_qd, M = self._long_inverse_derivatives(q, qd, self.forward_dynamics(q, qd, tau, threads=threads), threads)
            return self._solved_derivatives(by_q, by_qd, M)
        if self._is_loaded:
            qdd = self.forward_dynamics(q, qd, tau, threads=threads, parameters=parameters)
            return self._solved_derivatives(
                *self.inverse_dynamics_derivatives(q, qd, qdd, threads=threads, parameters=parameters)
            )
        by_q, by_qd, inverse = self._several("forward_dynamics_derivatives", (q, qd, tau), threads, parameters)
        return by_q, by_qd, inverse

    def _solved_derivatives(self, by_q: Array, by_qd: Array, M: Array) -> tuple[Array, Array, Array]:
        """Those of accelerations, from those of torques and d tau / d qdd."""
        known = np.isfinite(M).all(axis=(-2, -1), keepdims=True)
        inverse = np.where(known, np.linalg.inv(np.where(known, M, np.eye(self.arm.n))), np.nan).astype(self._dtype)
        return -inverse @ by_q, -inverse @ by_qd, inverse

    @cached_property
    def _is_loaded(self) -> bool:
        """Whether friction depends on the load."""
        from forearm.drives.joint import depends_on_load

        return depends_on_load(self.arm)

    @cached_property
    def _is_long(self) -> bool:
        """Whether derivatives come from inverse dynamics; those of mimicking joints and open parameters are always traced."""
        if self.arm.n <= LONGEST_TRACED or self.parameters:
            return False
        from forearm.kernels.looped import can_loop

        return can_loop(self.arm)

    @cached_property
    def _rigid(self) -> Kernel:
        return Kernel(self.arm.rigid(), self.dtype)

    def _long_inverse_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, threads: int | None
    ) -> tuple[Array, Array, Array]:
        from forearm.kernels.long_derivatives import inverse_derivatives

        states = [self._state(Slot(name, (self.arm.n,)), value) for name, value in (("q", q), ("qd", qd), ("qdd", qdd))]
        _check_shapes(("q", "qd", "qdd"), states)
        M, n = self.inertia_matrix(states[0], threads=threads), self.arm.n
        M[~np.isfinite(np.stack(states)).all(axis=(0, -1))] = np.nan
        by_q, by_qd = inverse_derivatives(self.arm, self._rigid, [v.reshape(-1, n) for v in states], threads)
        return by_q.reshape(M.shape), by_qd.reshape(M.shape), M

    def fused(self, functions: Iterable[str]) -> Fused:
        """Several functions compiled as one, which shares what they share: any of those that `fa.generate` knows."""
        names = _names("fused", functions)
        if not names:
            raise InputError("fused: the names of functions are needed, such as ['inverse_dynamics', 'inertia_matrix'].")
        return Fused(self, self.compiled(*dict.fromkeys(names)))

    def compiled(self, *names: str) -> Compiled:
        """A function by name, or several as one; made when it is first called."""
        found = self._made.get(names)
        if found is not None:
            return found
        _check_names(names)
        with self._lock:
            if names not in self._made:
                self._made[names] = Compiled(Request(self.arm, names, self.dtype, tuple(self.parameters)))
            return self._made[names]

    def _one(
        self, name: str, given: tuple[ArrayLike, ...], out: Array | None, threads: int | None, parameters: Parameters | None
    ) -> Array:
        return self._run(self._function(name, given), given, None if out is None else [out], threads, parameters)[0]

    def _several(
        self, name: str, given: tuple[ArrayLike, ...], threads: int | None, parameters: Parameters | None
    ) -> list[Array]:
        return self._run(self._function(name, given), given, None, threads, parameters)

    def _function(self, name: str, given: tuple[ArrayLike, ...]) -> Compiled:
        function = self._made.get((name,)) or self.compiled(name)
        large = _rows_of(given[0]) >= WORTH
        if (
            not large and not self.parameters and name not in self.__dict__
        ):  # whoever has large batches need not wait for the code of one state
            self._call_directly(name, function)
        return function

    def _call_directly(self, name: str, function: Compiled) -> None:
        """From now on Python calls the machine code itself, where that is possible."""
        with self._lock:
            if name in self.__dict__ or not (single := function.single).entry:
                return
            ordinary = getattr(self, name)
            direct.fill(single.table, self._dtype, ordinary)
            self._ordinary.append(ordinary)  # which the table points to
            setattr(self, name, direct.callable_at(single.entry, name, self))

    def _run(
        self, function: Compiled, given: tuple[ArrayLike, ...], out: list[Array] | None, threads: int | None,
        parameters: Parameters | None,
    ) -> list[Array]:  # fmt: skip
        many = _rows_of(given[0]) >= 0 and not self.parameters
        function.part("batch" if many else "single")  # from now on it is known what goes in and out
        slots = function.inputs[: len(given)]
        if many and _rows_of(given[0]) > AT_ONCE and not all(map(self._is_ready, given)):
            return self._piecewise(function, given, out, threads, parameters)
        states = [self._state(slot, value) for slot, value in zip(slots, given, strict=True)]
        _check_shapes([slot.name for slot in slots], states)
        batch = states[0].shape[:-1]
        workers = worker_count(batch[0] if batch else 1, threads, function.operations)
        if self.parameters:
            states.append(self._values(parameters, batch))
        elif parameters is not None:
            _refuse(parameters)
        shapes = [batch + slot.shape for slot in function.outputs]
        asked = [self._result(shape, None if out is None else out[k]) for k, shape in enumerate(shapes)]
        results = asked if out is None else [_apart(array, states) for array in asked]
        pointers = [array.__array_interface__["data"][0] for array in (*states, *results)]
        if not batch:
            function.single.call(*pointers, 1)
            return _copied(results, asked)
        each = bool(self.parameters) and states[-1].ndim == 2
        native = function.each if each else function.batch
        if function.table:
            direct.allow_batches(function.table, native.address, min(WORTH, WORK // function.operations) - 1)
        steps = [slot.size * self._dtype.itemsize for slot in (*function.inputs, *function.outputs)]
        if self.parameters and not each:
            steps[len(given)] = 0
        shared_rows(native, pointers, steps, batch[0], workers)
        return _copied(results, asked)

    def _is_ready(self, value: ArrayLike) -> bool:
        """Whether machine code takes an array as it is."""
        return type(value) is np.ndarray and value.dtype == self._dtype and value.flags.c_contiguous

    def _piecewise(
        self, function: Compiled, given: tuple[ArrayLike, ...], out: list[Array] | None, threads: int | None,
        parameters: Parameters | None,
    ) -> list[Array]:  # fmt: skip
        """Large arrays that must be converted, some states at a time: a copy of all of them might not fit."""
        arrays = [np.asarray(value) for value in given]
        for slot, array in zip(function.inputs, arrays, strict=False):
            self._shaped(slot, array)
        _check_shapes([slot.name for slot in function.inputs], arrays)
        count = len(arrays[0])
        shapes = [(count, *slot.shape) for slot in function.outputs]
        results = [self._result(shape, None if out is None else out[k]) for k, shape in enumerate(shapes)]
        if out is not None and any(np.may_share_memory(r, a) for r in results for a in arrays):
            results = [np.empty_like(r) for r in results]
        for start in range(0, count, AT_ONCE):
            part = slice(start, start + AT_ONCE)
            self._run(function, tuple(a[part] for a in arrays), [r[part] for r in results], threads, parameters)
        return results if out is None else _copied(results, out)

    def _values(self, given: Parameters | None, batch: tuple[int, ...]) -> Array:
        """Values of the parameters: (P,), or (B, P) where any of them differs from state to state."""
        own, names = list(self.parameters.values()), list(self.parameters)
        if given is None:
            return np.array(own, dtype=self._dtype)
        if isinstance(given, Mapping):
            if unknown := [name for name in given if name not in self.parameters]:
                raise NameNotFound(f"parameters: {shorten(unknown[0])} was not left open; {suggest(str(unknown[0]), names)}")
            columns = [self._numbers(f"parameters, {name}", given.get(name, own)) for name, own in self.parameters.items()]
            shapes = {column.shape for column in columns if column.shape}
            if shapes and shapes != {batch}:
                raise InputError(
                    f"parameters: a value is a number or {batch or 'one'} of them, as there are states; came {shapes}."
                )
            given = np.stack(np.broadcast_arrays(*columns), axis=-1)
        values = self._numbers("parameters", given)
        if values.shape not in ((len(own),), (*batch, len(own))):
            raise InputError(
                f"parameters: {len(own)} were left open, so the shape is ({len(own)},), or {(*batch, len(own))} with one row a "
                f"state; came {values.shape}."
            )
        return values

    def _state(self, slot: Slot, value: ArrayLike) -> Array:
        return self._shaped(slot, value if self._is_ready(value) else self._numbers(slot.name, value))  # type: ignore[arg-type]

    def _numbers(self, name: str, value: ArrayLike) -> Array:
        """A contiguous array of the kernel's dtype."""
        try:
            array = np.asarray(value)
            if array.dtype.kind not in "fiu":
                raise TypeError
            return np.asarray(array, dtype=self._dtype, order="C")
        except (TypeError, ValueError):
            raise InputError(f"{name}: an array of real numbers is needed; came {shorten(value)}.") from None

    def _shaped(self, slot: Slot, array: Array) -> Array:
        if array.ndim not in (1, 2) or array.shape[-1] != slot.size:
            n = slot.size
            why = f"{self.arm.name!r} has {n} joints" if slot.shape == (self.arm.n,) else f"it has {n} entries"
            raise InputError(f"{slot.name}: {why}, so the shape is ({n},) or (B, {n}); came {array.shape}.")
        return array

    def _result(self, shape: tuple[int, ...], out: Array | None) -> Array:
        if out is None:
            return np.empty(shape, dtype=self._dtype)
        fits = isinstance(out, np.ndarray) and out.shape == shape and out.dtype == self._dtype
        if not fits or not out.flags.c_contiguous or not out.flags.writeable:
            came = f"{out.shape} of {out.dtype}" if isinstance(out, np.ndarray) else shorten(out)
            raise InputError(f"out: a writeable C-contiguous array {shape} of {self.dtype} is needed; came {came}.")
        return out


class Fused:
    """Several functions of a kernel as one: call it with its `inputs`; it gives its `outputs` by name."""

    def __init__(self, kernel: Kernel, function: Compiled) -> None:
        self._kernel, self._function = kernel, function

    def __reduce__(self) -> tuple[Any, ...]:
        return Kernel.fused, (self._kernel, self._function.request.functions)

    def __repr__(self) -> str:
        return f"<{' + '.join(self._function.request.functions)} of {self._kernel!r}>"

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the arguments, in order."""
        return tuple(slot.name for slot in self._function.inputs if slot.name != "parameters")

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the results for one state, by name."""
        return {slot.name: slot.shape for slot in self._function.outputs}

    @property
    def counts(self) -> Counts:
        """Operations of one evaluation."""
        return self._function.counts

    def __call__(
        self, *states: ArrayLike, out: Mapping[str, Array] | None = None, threads: int | None = None,
        parameters: Parameters | None = None,
    ) -> dict[str, Array]:  # fmt: skip
        """The results by name, each (B, ...) for many states; `out` has an array for each of them."""
        if len(states) != len(self.inputs):
            raise InputError(f"{self!r}: the arguments are {', '.join(self.inputs)}; came {len(states)}.")
        if out is not None and not (isinstance(out, Mapping) and set(out) == set(self.outputs)):
            raise InputError(f"out: an array each for {', '.join(self.outputs)} is needed; came {shorten(out)}.")
        if out is not None and (
            any(array is None for array in out.values()) or len({id(array) for array in out.values()}) < len(out)
        ):
            raise InputError(f"out: {', '.join(self.outputs)} need an array each, none of them twice.")
        given = None if out is None else [out[name] for name in self.outputs]
        made = self._kernel._run(self._function, states, given, threads, parameters)
        return dict(zip(self.outputs, made, strict=True))


class _CountsByName(Mapping[str, "Counts"]):
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def __getitem__(self, name: str) -> Counts:
        return self.kernel.compiled(name).counts

    def __iter__(self) -> Iterator[str]:
        from forearm.codegen.functions import FUNCTIONS
        from forearm.codegen.inverse_kinematics import can_be_written

        written = can_be_written(self.kernel.arm) and not self.kernel.parameters
        return (name for name in FUNCTIONS if name != "inverse_kinematics" or written)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def compile(
    arm: Arm, dtype: str = "float64", device: str = "cpu", parameters: str | Iterable[str] = ()
) -> Kernel:  # fmt: skip
    """The arm's functions as machine code, each compiled when it is first called: `dtype` "float64" or "float32".

    `parameters` are left open, to be given with each call: "link6.mass", "link6", "gravity.z", or "all", as for `fa.generate`.
    """
    if not isinstance(arm, Arm):
        raise InputError(f"compile: an Arm is needed, such as fa.load('puma560'); came {shorten(arm)}.")
    if arm.n == 0:
        raise InputError(f"compile: {arm.name!r} has no joint that moves.")
    if not isinstance(dtype, str | np.dtype) or str(dtype) not in DTYPES:
        raise InputError(f"compile: dtype must be one of {', '.join(DTYPES)}; came {shorten(dtype)}.")
    if device != "cpu":
        raise InputError(f"compile: device must be 'cpu', which is what this version has; came {shorten(device)}.")
    return Kernel(arm, str(np.dtype(dtype)), tuple(_names("compile, parameters", parameters)))


def _names(where: str, given: object) -> list[str]:
    names: list[Any] = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [None]
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"{where}: a name or a list of names is needed; came {shorten(given)}.")
    return names


def _refuse(parameters: Parameters | None) -> None:
    if parameters is not None:
        raise InputError("parameters: none were left open in this kernel; fa.compile(arm, parameters=...) does that.")


def _rows_of(value: ArrayLike) -> int:
    """How many states an array holds, -1 if it is not an array of many."""
    return len(value) if isinstance(value, np.ndarray) and value.ndim == 2 else -1


def _open(arm: Arm, names: tuple[str, ...]) -> dict[str, float]:
    """The parameters left open, with the arm's own values."""
    if not names:
        return {}
    from forearm.reduction.symbolic import chosen_parameters

    return chosen_parameters(arm, names)


# What a kernel's own methods compute: known without looking at the table of all functions.
OWN = (
    "inverse_dynamics", "forward_dynamics", "inertia_matrix", "bias", "gravity", "forward_kinematics", "jacobian",
    "inverse_kinematics", "inverse_dynamics_derivatives", "forward_dynamics_derivatives",
)  # fmt: skip


def _check_names(names: tuple[str, ...]) -> None:
    if all(name in OWN for name in names):
        return
    from forearm.codegen.functions import FUNCTIONS

    for name in names:
        if name not in FUNCTIONS:
            raise NameNotFound(f"compile: there is no function {shorten(name)}; {suggest(str(name), FUNCTIONS)}")


def _check_shapes(names: Sequence[str], states: list[Array]) -> None:
    for name, state in zip(names, states, strict=True):
        if state.shape != states[0].shape:
            came = f"{state.shape} beside {states[0].shape}"
            raise InputError(f"{name}: all arguments share one shape; came {came}. Nothing is broadcast.")


def _apart(out: Array, inputs: list[Array]) -> Array:
    """The array to compute into: another one where `out` lies across an input; exactly in its place it may lie."""
    here = out.__array_interface__["data"][0], out.shape
    across = (a for a in inputs if (a.__array_interface__["data"][0], a.shape) != here)
    return np.empty_like(out) if any(np.may_share_memory(out, a) for a in across) else out


def _copied(results: list[Array], asked: list[Array]) -> list[Array]:
    for result, out in zip(results, asked, strict=True):
        if result is not out:
            out[...] = result
    return asked
