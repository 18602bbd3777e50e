"""Symmetric positive definite systems with bandwidth two, by cyclic reduction of 2 x 2 blocks.

All blocks of odd index are eliminated at once, which leaves half as many; so a system of N unknowns takes
log2 N rounds of a few operations on whole arrays.
"""

from __future__ import annotations

import numpy as np

from forearm.spatial import Floats

DENSE = 12  # blocks that are left to a dense solver


class BandSolver:
    """A factorised matrix, from its diagonals: main (n,), first (n - 1,) and second (n - 2,)."""

    def __init__(self, main: Floats, first: Floats, second: Floats) -> None:
        self.n = len(main)
        half = (self.n + 1) // 2
        rounds = 0
        while half > DENSE << rounds:
            rounds += 1
        blocks = -(-half >> rounds) << rounds
        self.blocks = blocks
        # Unit diagonal: eliminated entries are then small compared to what they are subtracted from, or
        # nearly singular.
        self.scale = np.ones(2 * blocks)
        self.scale[: self.n] = 1.0 / np.sqrt(main)
        d = self.scale
        side = np.zeros(2 * blocks)
        side[: len(first)] = first * d[: len(first)] * d[1 : self.n]
        far = np.zeros(2 * blocks)
        far[: len(second)] = second * d[: len(second)] * d[2 : self.n]
        diagonal = np.ones((2, 2, blocks))
        diagonal[0, 1] = diagonal[1, 0] = side[0::2]
        below = np.zeros((2, 2, blocks))  # block i + 1, i
        below[0, 0], below[1, 1], below[0, 1] = far[0::2], far[1::2], side[1::2]
        self.levels: list[tuple[Floats, Floats, Floats]] = []
        for _ in range(rounds):
            diagonal, below = self._reduce(diagonal, below)
        self.dense = np.linalg.inv(_assembled(diagonal, below))

    def _reduce(self, diagonal: Floats, below: Floats) -> tuple[Floats, Floats]:
        """The blocks of even index after elimination of those of odd index."""
        inverse = _inverse(diagonal[..., 1::2])
        left = below[..., 0::2]  # odd block, even block before it
        right = below[..., 1::2]  # even block after it, odd block
        from_left = _product(inverse, left)
        from_right = _product(inverse, right.transpose(1, 0, 2))
        self.levels.append((inverse, from_left, from_right))
        even = diagonal[..., 0::2] - _product(left.transpose(1, 0, 2), from_left)
        even[..., 1:] -= _product(right, from_right)[..., :-1]
        return even, -_product(right, from_left)

    def solve(self, right_side: Floats) -> Floats:
        """The solution for one right-hand side (n,)."""
        padded = np.zeros(2 * self.blocks)
        padded[: self.n] = right_side * self.scale[: self.n]
        rest = np.ascontiguousarray(padded.reshape(-1, 2).T)
        odds = []
        for _, from_left, from_right in self.levels:
            odd = rest[:, 1::2]
            rest = rest[:, 0::2] - (from_left[0] * odd[0] + from_left[1] * odd[1])
            rest[:, 1:] -= (from_right[0] * odd[0] + from_right[1] * odd[1])[:, :-1]
            odds.append(odd)
        found = (self.dense @ rest.T.ravel()).reshape(-1, 2).T
        for (inverse, from_left, from_right), odd in zip(reversed(self.levels), reversed(odds), strict=True):
            after = np.zeros_like(found)
            after[:, :-1] = found[:, 1:]
            whole = np.empty((2, 2 * found.shape[1]))
            whole[:, 0::2] = found
            whole[:, 1::2] = (
                inverse[:, 0] * odd[0]
                + inverse[:, 1] * odd[1]
                - from_left[:, 0] * found[0]
                - from_left[:, 1] * found[1]
                - from_right[:, 0] * after[0]
                - from_right[:, 1] * after[1]
            )
            found = whole
        return np.ascontiguousarray(found.T).ravel()[: self.n] * self.scale[: self.n]


def _product(a: Floats, b: Floats) -> Floats:
    """Products of 2 x 2 blocks (2, 2, k)."""
    result: Floats = a[:, 0, None] * b[0] + a[:, 1, None] * b[1]
    return result


def _inverse(blocks: Floats) -> Floats:
    """Inverses of 2 x 2 blocks (2, 2, k), positive definite or nearly so."""
    a, b, c = blocks[0, 0], blocks[0, 1], blocks[1, 1]
    determinant = np.maximum(a * c - b * b, 1e-15 * np.abs(a * c))
    inverse = np.empty(blocks.shape)
    inverse[0, 0], inverse[1, 1] = c / determinant, a / determinant
    inverse[0, 1] = inverse[1, 0] = -b / determinant
    return inverse


def _assembled(diagonal: Floats, below: Floats) -> Floats:
    """The whole matrix of blocks (2, 2, k)."""
    k = diagonal.shape[2]
    whole = np.zeros((k, 2, k, 2))
    i = np.arange(k)
    whole[i, :, i, :] = diagonal.transpose(2, 0, 1)
    whole[i[1:], :, i[:-1], :] = below.transpose(2, 0, 1)[:-1]
    whole[i[:-1], :, i[1:], :] = below.transpose(2, 1, 0)[:-1]
    return whole.reshape(2 * k, 2 * k)
