"""A graph that keeps every operation as written, used for counting formulations."""

from __future__ import annotations

from typing import Any

from forearm.symbols.graph import DIV, NOTHING, Graph


class Recorder(Graph):
    """A graph in which an operation done twice is counted twice, even on equal operands.

    Only 0, 1, -1 and x - x are folded; functions, such as cosine and sine, are created once per value.
    """

    interned = False

    def operation(self, kind: int, left: int, right: int = NOTHING, key: tuple[Any, ...] = ()) -> int:
        """The node of an operation: a new one for each product, sum and quotient."""
        if kind > DIV:
            return super().operation(kind, left, right, key)
        place = self._append_leaf(kind, self.offline[left] and (right < 0 or self.offline[right]))
        self.left[place], self.right[place] = left, right
        return place
