"""The values of one instance of an FMU, all float64 in one array:
the index of a value is its value reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

POSE, ENERGIES = 12, 2  # rows of (R, p) of the hand; kinetic and potential energy


@dataclass(frozen=True)
class Layout:
    """Where arrays begin, and how long they are, by name."""

    starts: dict[str, int]
    sizes: dict[str, int]

    @property
    def size(self) -> int:
        """Number of values."""
        return sum(self.sizes.values())

    def places(self, name: str) -> range:
        """The places of an array."""
        return range(self.starts[name], self.starts[name] + self.sizes[name])


def layout_of(n: int, loads: int, dry: Sequence[int], parameters: int) -> Layout:
    """The layout for n joint coordinates,
    of which some can be held by dry friction, and a number of open parameters.

    `h` is the length of the current step, `step` the longest one; `moved` is 1 if an event has changed a
    discrete state.
    """
    sizes = {
        "time": 1,
        "u": n,
        "q0": n,
        "qd0": n,
        "parameters": parameters,
        "step": 1,
        "q": n,
        "qd": n,
        "dq": n,
        "qdd": n,
        "tau": n,
        "pose": POSE,
        "energies": ENERGIES,
        "friction_sign": n,
        "is_free": n,
        "indicators": len(dry),
        "load_guess": 2 * loads,
        "h": 1,
        "moved": 1,
    }
    starts, at = {}, 0
    for name, size in sizes.items():
        starts[name] = at
        at += size
    return Layout(starts, sizes)
