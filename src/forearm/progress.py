"""Progress reporting of long computations."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A callback for progress: `done` of `total`, in the computation's own unit, and `what` is being done."""

    def __call__(self, done: float, total: float, what: str, /) -> object:
        """Report progress."""
