"""The functions of an arm, compiled: one state or many, in NumPy arrays."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.codegen.functions import FUNCTIONS, trace
from forearm.codegen.program import Argument
from forearm.codegen.tracing import Tracing
from forearm.errors import InputError, NameNotFound, shorten, suggest
from forearm.kernels import direct
from forearm.kernels.ir import function_text, module_text
from forearm.kernels.native import Native, compiled, host
from forearm.symbols import Counts

DTYPES = ("float64", "float32")
ROWS = 2048  # states a thread takes at a time: their inputs and outputs stay in the nearest caches
WORTH = 4 * ROWS  # states from which on more than one thread is used
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Compiled:
    """One function as machine code: for a block of states in the lanes of vectors, and for one state alone."""

    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    counts: Counts
    batch: Native
    single: Native


class Kernel:
    """An arm's functions compiled when they are first called. Made by `fa.compile`; may be pickled and shared by threads.

    Arguments are (n,) for one state or (B, n) for many, all of one shape; results are new arrays unless `out` is given. NaN or
    infinity in a state makes everything of that state NaN.
    """

    def __init__(self, arm: Arm, dtype: str = "float64") -> None:
        self.arm, self.dtype = arm, dtype
        self._dtype = np.dtype(dtype)
        self._made: dict[str, Compiled] = {}
        self._kept: list[Any] = []  # what functions called directly point to
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Kernel, (self.arm, self.dtype)

    def __repr__(self) -> str:
        return f"<Kernel of {self.arm.name!r}, {self.dtype}, compiled: {', '.join(self._made) or 'nothing yet'}>"

    @property
    def counts(self) -> Mapping[str, Counts]:
        """Operations of one evaluation, by function; asking for one compiles it."""
        return _CountsByName(self)

    def inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Torques, drives included: (n,) -> (n,), (B, n) -> (B, n)."""
        return self._run("inverse_dynamics", (q, qd, qdd), out, threads)[0]

    def forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Accelerations, drives included."""
        return self._run("forward_dynamics", (q, qd, tau), out, threads)[0]

    def inertia_matrix(self, q: ArrayLike, out: Array | None = None, threads: int | None = None) -> Array:
        """M with the rotors on its diagonal: (n, n) or (B, n, n)."""
        return self._run("inertia_matrix", (q,), out, threads)[0]

    def bias(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None, threads: int | None = None) -> Array:
        """Inverse dynamics without acceleration."""
        return self._run("bias", (q, qd), out, threads)[0]

    def gravity(self, q: ArrayLike, out: Array | None = None, threads: int | None = None) -> Array:
        """Torques that hold the arm still."""
        return self._run("gravity", (q,), out, threads)[0]

    def forward_kinematics(self, q: ArrayLike, out: Array | None = None, threads: int | None = None) -> Array:
        """The hand in the base frame: (4, 4) or (B, 4, 4)."""
        return self._run("forward_kinematics", (q,), out, threads)[0]

    def jacobian(self, q: ArrayLike, out: Array | None = None, threads: int | None = None) -> Array:
        """J at the hand's origin, linear rows first, base axes: (6, n) or (B, 6, n)."""
        return self._run("jacobian", (q,), out, threads)[0]

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, threads: int | None = None
    ) -> tuple[Array, Array, Array]:
        """(dtau/dq, dtau/dqd, M), each (n, n) or (B, n, n) with [i, j] = d tau_i / d x_j."""
        made = self._run("inverse_dynamics_derivatives", (q, qd, qdd), None, threads)
        return made[0], made[1], made[2]

    def forward_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, threads: int | None = None
    ) -> tuple[Array, Array, Array]:
        """(dqdd/dq, dqdd/dqd, inverse of M): -M^-1 times the derivatives of inverse dynamics at the resulting acceleration."""
        qdd = self.forward_dynamics(q, qd, tau, threads=threads)
        by_q, by_qd, M = self.inverse_dynamics_derivatives(q, qd, qdd, threads=threads)
        known = np.isfinite(M).all(axis=(-2, -1), keepdims=True)
        inverse = np.where(known, np.linalg.inv(np.where(known, M, np.eye(self.arm.n, dtype=M.dtype))), np.nan).astype(M.dtype)
        return -inverse @ by_q, -inverse @ by_qd, inverse

    def compiled(self, name: str) -> Compiled:
        """A function by name, compiled now if it was not yet."""
        if name not in FUNCTIONS:
            raise NameNotFound(f"compile: there is no function {shorten(name)}; {suggest(str(name), FUNCTIONS)}")
        with self._lock:
            if name not in self._made:
                self._made[name] = made = _compile(self.arm, name, self.dtype)
                ordinary = getattr(self, name, None)
                if made.single.entry and ordinary is not None:  # from now on Python calls the machine code itself
                    function, definition = direct.callable_at(made.single.entry, name, ordinary)
                    self._kept.append(definition)
                    setattr(self, name, function)
            return self._made[name]

    def _run(self, name: str, given: tuple[ArrayLike, ...], out: Array | None, threads: int | None) -> list[Array]:
        function = self._made.get(name) or self.compiled(name)
        states = [self._state(a.name, value) for a, value in zip(function.inputs, given, strict=True)]
        for a, state in zip(function.inputs, states, strict=True):
            if state.shape != states[0].shape:
                came = f"{state.shape} beside {states[0].shape}"
                raise InputError(f"{a.name}: all arguments share one shape; came {came}. Nothing is broadcast.")
        batch = states[0].shape[:-1]
        results = [self._result(batch + a.shape, out) for a in function.outputs]
        pointers = [array.__array_interface__["data"][0] for array in (*states, *results)]
        if not batch:
            function.single.call(*pointers, 1)
        else:
            self._rows(function, pointers, batch[0], threads)
        return results

    def _rows(self, function: Compiled, pointers: list[int], count: int, threads: int | None) -> None:
        """Blocks of rows, by one thread or several; the answer is the same."""
        workers = _workers(count, threads)
        size = np.dtype(self.dtype).itemsize
        steps = [a.size * size for a in (*function.inputs, *function.outputs)]

        def block(start: int) -> None:
            rows = min(step, count - start)
            function.batch.call(*(p + s * start for p, s in zip(pointers, steps, strict=True)), rows)

        step = count if workers == 1 else max(ROWS, -(-count // (8 * workers)))
        if workers == 1:
            block(0)
            return
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(block, range(0, count, step)))

    def _state(self, name: str, value: ArrayLike) -> Array:
        if type(value) is np.ndarray and value.dtype == self._dtype and value.flags.c_contiguous:
            return self._shaped(name, value)
        try:
            array = np.asarray(value)
            if array.dtype.kind not in "fiu":
                raise TypeError
            array = np.ascontiguousarray(array, dtype=self.dtype)
        except (TypeError, ValueError):
            raise InputError(f"{name}: an array of real numbers is needed; came {shorten(value)}.") from None
        return self._shaped(name, array)

    def _shaped(self, name: str, array: Array) -> Array:
        if array.ndim not in (1, 2) or array.shape[-1] != self.arm.n:
            n = self.arm.n
            raise InputError(
                f"{name}: {self.arm.name!r} has {n} joints, so the shape is ({n},) or (B, {n}); came {array.shape}."
            )  # fmt: skip
        return array

    def _result(self, shape: tuple[int, ...], out: Array | None) -> Array:
        if out is None:
            return np.empty(shape, dtype=self._dtype)
        fits = isinstance(out, np.ndarray) and out.shape == shape and out.dtype == self._dtype
        if not fits or not out.flags.c_contiguous or not out.flags.writeable:
            came = f"{out.shape} of {out.dtype}" if isinstance(out, np.ndarray) else shorten(out)
            raise InputError(f"out: a writeable C-contiguous array {shape} of {self.dtype} is needed; came {came}.")
        return out


class _CountsByName(Mapping[str, Counts]):
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def __getitem__(self, name: str) -> Counts:
        return self.kernel.compiled(name).counts

    def __iter__(self) -> Iterator[str]:
        return iter(FUNCTIONS)

    def __len__(self) -> int:
        return len(FUNCTIONS)


def compile(arm: Arm, dtype: str = "float64", device: str = "cpu") -> Kernel:
    """The arm's functions as machine code, each compiled when it is first called: `dtype` "float64" or "float32"."""
    if not isinstance(arm, Arm):
        raise InputError(f"compile: an Arm is needed, such as fa.load('puma560'); came {shorten(arm)}.")
    if arm.n == 0:
        raise InputError(f"compile: {arm.name!r} has no joint that moves.")
    if dtype not in DTYPES:
        raise InputError(f"compile: dtype must be one of {', '.join(DTYPES)}; came {shorten(dtype)}.")
    if device != "cpu":
        raise InputError(f"compile: device must be 'cpu', which is what this version has; came {shorten(device)}.")
    return Kernel(arm, dtype)


def _compile(arm: Arm, name: str, dtype: str) -> Compiled:
    traced = trace(Tracing(arm, {}), [FUNCTIONS[name]])
    wide, one = host(dtype), host(dtype, 1)
    texts = [function_text(name, traced, one)]
    entry = len(traced.outputs) == 1 and direct.is_possible()
    if entry:
        texts.append(direct.entry_text(name, traced, np.dtype(dtype)))
    batch = compiled(module_text([function_text(name, traced, wide)], wide), name, len(traced.arrays))
    single = compiled(module_text(texts, one), name, len(traced.arrays), direct.symbols() if entry else None)
    return Compiled(traced.inputs, traced.outputs, traced.graph.counts(traced.results), batch, single)


def _workers(count: int, threads: int | None) -> int:
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise InputError(f"threads: a whole number of at least 1 is needed; came {shorten(threads)}.")
    if threads is None:
        threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        threads = threads if count >= WORTH else 1
    return min(threads, max(1, -(-count // ROWS)))
