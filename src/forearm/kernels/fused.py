"""Several functions of a kernel, called as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.errors import InputError, shorten
from forearm.kernels.arrays import Array
from forearm.kernels.compiled import Names, Shape
from forearm.kernels.dispatch import Call, Parameters

if TYPE_CHECKING:
    from forearm.kernels.kernel import Kernel
    from forearm.symbols.counts import Counts


class Fused:
    """Several functions of a kernel compiled as one: call it with its `inputs`;
    it returns its `outputs` by name.
    """

    def __init__(self, kernel: Kernel, function: Any, run: Callable[..., list[Array]]) -> None:
        self._kernel, self._function, self._run = kernel, function, run

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self._kernel).fused, (self._kernel, self._function.request.functions)

    def __repr__(self) -> str:
        return f"<{' + '.join(self._function.request.functions)} of {self._kernel!r}>"

    @property
    def inputs(self) -> Names:
        """Names of the arguments, in order."""
        return tuple(slot.name for slot in self._function.inputs if slot.name != "parameters")

    @property
    def outputs(self) -> dict[str, Shape]:
        """Shapes of the results for one state, by name."""
        return {slot.name: slot.shape for slot in self._function.outputs}

    @property
    def counts(self) -> Counts:
        """Operations of one evaluation."""
        counts: Counts = self._function.counts
        return counts

    def __call__(
        self,
        *states: ArrayLike,
        out: Mapping[str, Array] | None = None,
        threads: int | None = None,
        parameters: Parameters | None = None,
    ) -> dict[str, Array]:
        """The results by name, (B, ...) for a batch; `out` is a mapping with an array for each of them."""
        if len(states) != len(self.inputs):
            raise InputError(
                f"expected the arguments {', '.join(self.inputs)}, got {len(states)} of them.", f"{self!r}"
            )
        if out is not None and not (isinstance(out, Mapping) and set(out) == set(self.outputs)):
            raise InputError(
                f"expected one array for each of {', '.join(self.outputs)}, got {shorten(out)}.", "out"
            )
        given = None if out is None else [out[name] for name in self.outputs]
        arrays = (array for array in given or () if isinstance(array, np.ndarray))
        if any(np.may_share_memory(a, b) for a, b in combinations(arrays, 2)):
            raise InputError(
                f"{', '.join(self.outputs)} must be separate arrays; two of them share memory.", "out"
            )
        made = self._run(self._function, states, Call(self._kernel.parameters, given, threads, parameters))
        return dict(zip(self.outputs, made, strict=True))
