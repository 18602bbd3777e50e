"""Residual spectra: Welch's periodogram, and the level of white noise."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from forearm.spatial import Floats
from forearm.values import frozen

SEGMENT = 256  # most samples per segment
SEGMENTS = 4  # least number of segments if possible, as one alone says little
LEAST = 16  # least samples per segment for a spectrum


@frozen
class Spectrum:
    """Power spectral density of the residuals.

    Attributes:
        f: frequencies (F,), Hz, between 0 and the Nyquist frequency, both excluded.
        power: one-sided density at them (F, n), unit^2 / Hz.
        level: the density that white noise of the same variance would have (n,).
        segments: number of averaged periodograms, counted without overlap.
    """

    f: Floats
    power: Floats
    level: Floats
    segments: float

    def bound(self, probability: float) -> Floats:
        """Density that white noise stays below at a frequency with this probability, (n,): chi-square with
        two degrees of freedom per segment, Wilson-Hilferty approximation.
        """
        freedom = 2.0 * self.segments
        part = 2.0 / (9.0 * freedom)
        z = NormalDist().inv_cdf(probability)
        return self.level * (1.0 - part + z * math.sqrt(part)) ** 3


def welch(residual: Floats, t: Floats, ends: NDArray[np.intp]) -> Spectrum | None:
    """The spectrum of residuals (T, n) at uniform times (T,) between `ends`, means removed; None if every
    piece is too short. Hann windows, half overlap.
    """
    pieces = [(int(a), int(b)) for a, b in pairwise(ends)]
    size = 2 ** int(math.log2(max(len(t) / SEGMENTS, 2 * LEAST)))
    size = min(SEGMENT, size, max(b - a for a, b in pieces))
    size -= size % 2
    if size < LEAST:
        return None
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(size) / size)
    total = np.zeros((size // 2 - 1, residual.shape[1]))
    count, whole = 0, 0.0
    steps = []
    for start, end in pieces:
        part = residual[start:end]
        part = np.where(np.isnan(part), 0.0, part - np.nanmean(part, axis=0)) if len(part) >= size else part
        for first in range(0, len(part) - size + 1, size // 2):
            power = np.abs(np.fft.rfft(window[:, None] * part[first : first + size], axis=0)[1:-1]) ** 2
            total += power
            count += 1
        if end - start >= size:
            whole += (end - start) / size
            steps.append((t[end - 1] - t[start]) / (end - start - 1))
    period = float(np.median(steps))
    density = 2.0 * period * total / (count * float(np.sum(window**2)))
    variance = np.nanvar(residual, axis=0)
    f = np.arange(1, size // 2) / (size * period)
    return Spectrum(f, density, 2.0 * variance * period, max(whole, 1.0))
