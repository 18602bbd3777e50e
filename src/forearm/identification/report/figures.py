"""The drawings of the page: efforts and residuals over time, spectra, friction over speed, intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forearm.identification.report.friction_curves import friction_curve
from forearm.identification.report.rows import ParameterRow
from forearm.identification.report.spectra import Spectrum
from forearm.identification.report.summary import effort_unit
from forearm.identification.report.thinning import breaks, running_time, thinned
from forearm.spatial import Floats
from forearm.svg import Drawing, Scale

if TYPE_CHECKING:
    from forearm.identification.result import Identification

STRETCHES = 240  # extremes drawn per curve
ALL_STRETCHES = 2500  # for all joints, so that pages of long arms stay small
BAND = 0.95  # probability that white noise stays below the band
LOWEST = -30.0  # dB
WIDE, HIGH = 560.0, 210.0


class OverTime:
    """Curves of an identification over time, logs one after the other."""

    def __init__(self, found: Identification) -> None:
        self.found = found
        self.time = running_time(found.t, found.log_of)
        self.ends = breaks(self.time, found.log_of)
        self.stretches = max(20, min(STRETCHES, ALL_STRETCHES // max(found.arm.n, 1)))

    def efforts(self, i: int) -> str:
        """Measured and predicted efforts of a joint."""
        found = self.found
        curves = {"before": found.predicted_before, "measured": found.measured, "predicted": found.predicted}
        said = "efforts of {}: measured, predicted, and predicted by the arm before"
        return self._drawing(curves, i, "effort", said, ())

    def residuals(self, i: int) -> str:
        """Residual efforts of a joint, before and after."""
        found, level = self.found, 2.0 * float(self.found.noise[i])
        curves = {"before": found.measured - found.predicted_before, "predicted": found.residual}
        said = "residual efforts of {}, with two standard deviations of the noise"
        return self._drawing(curves, i, "left", said, (level, -level))

    def _drawing(
        self, curves: dict[str, Floats], i: int, what: str, said: str, levels: Sequence[float]
    ) -> str:
        found, time = self.found, self.time
        low, high = room_for([*(y[:, i] for y in curves.values()), np.array([0.0, *levels])])
        end = float(time[-1]) if len(time) else 1.0
        label = f"{what}, {effort_unit(found, i)}"
        drawing = Drawing(WIDE, HIGH, (0.0, end or 1.0), (low, high), "time, s", label)
        drawn = [
            drawing.curve(*thinned(time, y[:, i], self.ends, self.stretches), kind)
            for kind, y in curves.items()
        ]
        drawn += [drawing.curve(np.array([0.0, end]), np.full(2, y), "level") for y in levels]
        for k in np.flatnonzero(np.diff(found.log_of) != 0):  # between logs
            parted = np.full(2, 0.5 * (time[k] + time[k + 1]))
            drawn.append(drawing.curve(parted, np.array([low, high]), "parted"))
        return drawing.text(said.format(found.arm.joints[i].name), drawn)


def spectrum_drawing(found: Identification, spectrum: Spectrum, i: int) -> str:
    """Residual spectrum of a joint, in dB above white noise of the same variance."""
    level = float(spectrum.level[i])
    if not level > 0.0:
        return ""
    with np.errstate(divide="ignore"):
        db = np.maximum(10.0 * np.log10(spectrum.power[:, i] / level), LOWEST)
    bound = 10.0 * math.log10(float(spectrum.bound(BAND)[i]) / level)
    low, high = room_for([db, np.array([0.0, bound])])
    most = float(spectrum.f[-1])
    drawing = Drawing(WIDE, HIGH, (0.0, most), (low, high), "frequency, Hz", "above white, dB")
    ends = np.array([0.0, most])
    drawn = [
        drawing.curve(spectrum.f, db, "predicted"),
        drawing.curve(ends, np.zeros(2), "white"),
        drawing.curve(ends, np.full(2, bound), "level"),
    ]
    name = found.arm.joints[i].name
    return drawing.text(f"residual spectrum of {name}, in dB above white noise", drawn)


def friction_drawing(found: Identification, i: int) -> str:
    """Friction over speed, data and fitted laws; empty if it cannot be drawn."""
    curve = friction_curve(found, i)
    if curve is None:
        return ""
    low, high = room_for([curve.low, curve.high, curve.law, np.array([0.0])])
    joint = found.arm.joints[i]
    most = float(curve.law_speed[-1])
    unit = "rad/s" if joint.kind == "revolute" else "m/s"
    label = f"friction, {effort_unit(found, i)}"
    drawing = Drawing(WIDE, HIGH, (-most, most), (low, high), f"speed, {unit}", label)
    before = np.where((curve.before < low) | (curve.before > high), np.nan, curve.before)
    data = np.stack([curve.speed, curve.low, curve.middle, curve.high], axis=1)
    bars = [drawing.curve(np.full(2, x), np.array([a, b]), "bar") for x, a, _, b in data.tolist()]
    dots = [drawing.mark(x, y, "dot") for x, _, y, _ in data.tolist()]
    laws = [drawing.curve(curve.law_speed, y, k) for y, k in ((before, "before"), (curve.law, "predicted"))]
    return drawing.text(f"friction of {joint.name} over speed: data and fitted law", [*bars, *dots, *laws])


def interval_bar(row: ParameterRow) -> str:
    """The interval of a parameter with its previous value, each row with its own scale."""
    values = [x for x in (row.before, row.value, row.low, row.high) if math.isfinite(x)]
    said = escape(f"{row.name}: interval and previous value")
    head = f'<svg class="interval" viewBox="0 0 180 18" role="img" aria-label="{said}">'
    if not row.is_known or not values:
        return f'{head}<path class="unknown" d="M6,9 L174,9"/></svg>'
    low, high = min(values), max(values)
    spread = (high - low) or abs(high) or 1.0
    across = Scale(low - 0.02 * spread, high + 0.02 * spread, 6.0, 174.0)

    def at(x: float) -> str:
        return f"{float(across(np.array(x))):.1f}"

    parts = [f'<path class="axis" d="M{at(0.0)},1 V17"/>'] if low < 0.0 < high else []
    parts.append(f'<path class="now" d="M{at(row.low)},9 L{at(row.high)},9"/>')
    if math.isfinite(row.before):
        parts.append(f'<circle class="was" cx="{at(row.before)}" cy="9" r="5"/>')
    parts.append(f'<circle class="is" cx="{at(row.value)}" cy="9" r="4"/>')
    return f"{head}{''.join(parts)}</svg>"


def share_bars(shares: Sequence[tuple[str, float]], most: float) -> str:
    """Horizontal bars, one below the other, each with a class, scaled to the longest."""
    bars = []
    for k, (kind, share) in enumerate(shares):
        length = 170.0 * share / most if math.isfinite(share) and most > 0.0 else 0.0
        bars.append(f'<path class="{kind}" d="M2,{4 + 6 * k} h{length:.1f}"/>')
    height = 6 * len(shares) + 2
    return f'<svg class="bars" viewBox="0 0 180 {height}" aria-hidden="true">{"".join(bars)}</svg>'


def room_for(curves: Sequence[Floats]) -> tuple[float, float]:
    """Ends of an axis that contains all of them."""
    values: NDArray[np.float64] = np.concatenate([np.ravel(c) for c in curves])
    values = values[np.isfinite(values)]
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    room = 0.05 * (high - low) or 1.0
    return low - room, high + room
