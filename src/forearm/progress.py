"""How far a long computation is: what callers give it to be told."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A function that is called now and then: `done` of `total`, in the computation's own unit, and
    `what` it does now.
    """

    def __call__(self, done: float, total: float, what: str, /) -> object:
        """Be told."""
