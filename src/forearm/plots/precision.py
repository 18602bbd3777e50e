"""Single against double precision in the style of Mata's Fig. 2."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.charts import Chart, Curve, CurveLook, look
from forearm.dynamics.precision import METHODS, PrecisionStudy
from forearm.plots.figure import stacked

BLACK = 6  # colour of the palette


def precision_figure(arm: Arm, study: PrecisionStudy, swept: int, shown: int) -> Any:
    """Acceleration of one joint against the position of another, each method in single precision compared
    with double, and cond(M).
    """
    turning = arm.joints[swept].kind == "revolute"
    x = np.degrees(study.q[:, swept]) if turning else study.q[:, swept]
    place = f"{arm.joints[swept].name}, {'degrees' if turning else 'm'}"
    unit = "rad/s²" if arm.joints[shown].kind == "revolute" else "m/s²"
    exact = study.double[:, shown]
    double = Curve(x, exact, "double", CurveLook(BLACK, 1))
    charts, apart = [], []
    for k, method in enumerate(METHODS):
        single = study.single[method][:, shown]
        own = Curve(x, single, f"{method}, single", replace(look(k), dash=0))
        charts.append(Chart(place, f"acceleration, {unit}", [own, double]))
        apart.append(Curve(x, np.maximum(np.abs(single - exact), 1e-18), method, look(k)))
    charts.append(Chart(place, f"difference, {unit}", apart, log="y"))
    condition = Curve(x, study.condition, "condition number of M", CurveLook(BLACK))
    charts.append(Chart(place, "cond(M)", [condition], log="y"))
    title = f"{arm.name}: acceleration of {arm.joints[shown].name}, at rest and undriven"
    return stacked([replace(charts[0], title=title), *charts[1:]], beside=True)
