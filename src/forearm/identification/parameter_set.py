"""Named parameters in order: a mapping, and an array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.errors import NameNotFound, suggest
from forearm.spatial import Floats


class ParameterSet(Mapping[str, float]):
    """Named parameters in order: `p["joint2.friction.viscous"]`, `np.asarray(p)`.

    Args:
        names: one per value.
        values: the values (p,).
    """

    def __init__(self, names: Sequence[str], values: NDArray[Any] | Sequence[float]) -> None:
        self.names = tuple(names)
        self._values: Floats = np.array(values, dtype=np.float64).reshape(len(self.names))
        self._values.flags.writeable = False
        self._places = {name: k for k, name in enumerate(self.names)}

    def __getitem__(self, name: str) -> float:
        if name not in self._places:
            raise NameNotFound(f"unknown name {name!r}; {suggest(str(name), self.names)}", "parameters")
        return float(self._values[self._places[name]])

    # Mapping methods expect a KeyError.
    def __contains__(self, name: object) -> bool:
        return name in self._places

    def get(self, name: str, default: Any = None) -> Any:
        """The value of that name, or `default`."""
        return self[name] if name in self._places else default

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        made = np.asarray(self._values, dtype=dtype)
        return made.copy() if copy else made

    def __repr__(self) -> str:
        return f"<ParameterSet of {len(self)}: {', '.join(self.names[:3])}{', ...' if len(self) > 3 else ''}>"
