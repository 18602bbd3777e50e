"""Any function on the graph as machine code, for NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.errors import InputError, shorten
from forearm.kernels import fastcall
from forearm.kernels.arrays import Array
from forearm.kernels.compiled import Compiled, Shape, TracedRequest
from forearm.kernels.cpu import chosen
from forearm.kernels.dispatch import Call, run
from forearm.values import check_choice

if TYPE_CHECKING:
    from forearm.codegen.functions import Traced
    from forearm.symbols.counts import Counts


class TracedFunction:
    """A function on the graph, compiled; created by `compile_function`. Called with its `inputs`, (n,) each
    for one state or (B, n) for many, it returns its output, or a tuple of them.

    `call` is the same with less overhead: if arrays need no conversion, Python calls the machine code itself.
    """

    def __init__(self, request: TracedRequest) -> None:
        self._compiled = Compiled(request)
        single = self._compiled.part("single")
        if single.entry:
            self._ordinary = self.call  # referenced by the table
            fastcall.fill(single.table, np.dtype(request.dtype), self._ordinary)
            self.__dict__["call"] = fastcall.callable_at(single.entry, "call", self)

    def __repr__(self) -> str:
        return f"<{self._compiled.request.functions[0]}({', '.join(self.inputs)}), compiled>"

    @property
    def inputs(self) -> dict[str, Shape]:
        """Shapes of the arguments for one state, in order, by name."""
        return {slot.name: slot.shape for slot in self._compiled.inputs}

    @property
    def outputs(self) -> dict[str, Shape]:
        """Shapes of the results for one state, in order, by name."""
        return {slot.name: slot.shape for slot in self._compiled.outputs}

    @property
    def counts(self) -> Counts:
        """Operations of one evaluation."""
        return self._compiled.counts

    def __call__(self, *states: ArrayLike, **options: Any) -> Any:
        """The output, or a tuple of all, in new arrays or in those given as `out`."""
        return self.call(*states, **options)

    def call(
        self, *states: ArrayLike, out: Array | Sequence[Array] | None = None, threads: int | None = None
    ) -> Any:
        """The output, or a tuple of all, in new arrays or in those given as `out`."""
        if len(states) != len(self.inputs):
            raise InputError(f"expected {len(self.inputs)} arguments, got {len(states)}.", f"{self!r}")
        given = [out] if isinstance(out, np.ndarray) else out
        if given is not None and len(given) != len(self.outputs):
            raise InputError(f"expected {len(self.outputs)} arrays, got {len(given)}.", f"{self!r}", "out")
        made = run(self._compiled, states, Call({}, given, threads))
        return made[0] if len(made) == 1 else tuple(made)


def compile_function(
    traced: Traced | Callable[[], Traced],
    name: str = "traced",
    *,
    key: tuple[object, ...] | None = None,
    arm: Arm | None = None,
    dtype: str = "float64",
    cpu: str | None = None,
    contract: bool = True,
    in_one: bool = False,
) -> TracedFunction:
    """A function on the graph as machine code, from the cache if the same was compiled before.

    Code is identified by everything that the graph computes. If tracing is slow, pass a function that traces
    and a `key` of everything that it traces from: then nothing is traced when the code is cached. `arm` is
    the arm that the function belongs to, for messages; `dtype` and `cpu` are those of `fa.compile`. Without
    `contract` each operation is rounded separately, like Python floats: no fused multiply-add. With `in_one`
    the code for many states serves for one, too, which halves the time to compile.
    """
    if not name.isascii() or not name.isidentifier():
        raise InputError(f"expected letters, digits and _, got {shorten(name)}.", "compile_function", "name")
    check_choice(dtype, ("float64", "float32"), "compile_function, dtype")
    made_of: object = key
    if key is None:
        found = traced() if callable(traced) else traced
        traced, made_of = found, content_of(found, "compile_function")
    trace = traced if callable(traced) else lambda: traced
    return TracedFunction(TracedRequest((name,), trace, made_of, arm, dtype, chosen(cpu), contract, in_one))


def content_of(traced: Traced, where: str) -> list[Any]:
    """Everything that a function on the graph computes, as lists; its inputs have one axis each."""
    from forearm.symbols.content import content

    for a in traced.inputs:
        if len(a.shape) != 1:
            raise InputError(f"expected inputs with one axis, got {a.name} {a.shape}.", where)
    shapes = [(a.name, a.shape) for a in traced.arrays]
    return [shapes, content(traced.graph, {name: list(table.flat) for name, table in traced.results.items()})]
