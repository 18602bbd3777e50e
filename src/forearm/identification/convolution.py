"""Convolution of columns with constant weights by FFT: as fast for long windows as for short ones."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from forearm.spatial import Floats


def filtered(values: Floats, weights: Floats) -> list[Floats]:
    """Slide each row of weights (k, W) along columns (T, m): sum_i w_i x[t + i], (T - W + 1, m) each."""
    width = weights.shape[1]
    size = _fast_size(len(values))
    centre = values.mean(axis=0)  # FFTs lose what is small relative to the largest value
    spectrum = np.fft.rfft((values - centre).T, size, axis=1)  # (m, F)
    out = []
    for own, response in zip(weights, _responses(weights.tobytes(), width, size), strict=True):
        back = np.fft.irfft(spectrum * response, size, axis=1)[:, : len(values) - width + 1]
        out.append(np.ascontiguousarray(back.T) + centre * own.sum())
    return out


@lru_cache(maxsize=8)
def _responses(data: bytes, width: int, size: int) -> NDArray[np.complex128]:
    """Spectra of the mirrored weights, so that the product is a correlation."""
    weights = np.frombuffer(data).reshape(-1, width)
    return np.conj(np.fft.rfft(weights, size, axis=1))


@lru_cache(maxsize=64)
def _fast_size(count: int) -> int:
    """The smallest product of small primes that is not below this length."""
    best = 1 << (count - 1).bit_length()
    for a in range(best.bit_length()):
        for b in range(4):
            size = 2**a * 3**b
            if size >= count:
                best = min(best, size)
            if 5 * size >= count:
                best = min(best, 5 * size)
    return best
