"""Options that controllers, loops and generated laws share, each declared once."""

from __future__ import annotations

from collections.abc import Iterable

from numpy.typing import ArrayLike

from forearm.control.gains import BANDWIDTH, Gains
from forearm.reading.fields import ObjectField, WholeField
from forearm.records import declared, flag, number, record

PERIOD = 1e-3  # s
NEAR = 1e-3  # of the mean mobility: damping threshold
DELAY = WholeField("periods from a sample until its command acts, 0 or 1", 0, 1)


@record
class LoopTiming:
    """When a controller is called, and when its commands act."""

    period: float = number("sampling period", "s", default=PERIOD, above=0.0)
    delay: int = declared(DELAY, default=0)


@record
class LoopOptions:
    """Times and the start of a simulated loop."""

    period: float | None = number(
        "sampling period; if absent, the converter's, or 1 ms", "s", default=None, above=0.0
    )
    step: float | None = number(
        "integration step of the plant (fourth order), possibly reduced; if absent, 0.25 ms, or less "
        "for strongly damped drives or stiff springs",
        "s",
        default=None,
        above=0.0,
    )
    q0: ArrayLike | None = declared(
        ObjectField(
            "initial coordinates of the links, (n,), with springs balancing gravity; if absent, on the motion"
        ),
        default=None,
    )
    qd0: ArrayLike | None = declared(ObjectField("initial velocities of the links, likewise"), default=None)


@record
class ComparisonOptions:
    """The conditions under which controllers are compared."""

    period: float | None = number(
        "sampling period; if absent, the converter's, or 1 ms", "s", default=None, above=0.0
    )
    bandwidth: float = number("bandwidth of the feedback", "rad/s", default=BANDWIDTH, above=0.0)
    payload: float | None = number(
        "point mass at the hand's origin; if absent, a twentieth of the moving mass",
        "kg",
        default=None,
        minimum=0.0,
    )


@record
class PracticeOptions:
    """How a motion is practised."""

    trials: int = declared(WholeField("number of runs", 1, 1000), default=4)
    spacing: float = number(
        "minimum distance of a new point from existing ones, in spans of the motion", default=0.05, above=0.0
    )
    reach: float = number(
        "maximum distance of a match, in spans of the motion; beyond it only feedback acts",
        default=1.0,
        above=0.0,
    )
    period: float = number("sampling period", "s", default=PERIOD, above=0.0)


@record
class HandOptions:
    """What operational-space laws share."""

    bandwidth: float = number("bandwidth of critically damped gains", "rad/s", default=BANDWIDTH, above=0.0)
    axes: Iterable[str] | None = declared(
        ObjectField(
            "of x, y, z, rx, ry, rz, base axes; if absent, all for six joints and more, else x, y, z"
        ),
        default=None,
    )
    posture: ArrayLike | None = declared(
        ObjectField("preferred joint coordinates (n,); if absent, those of the reference motion"),
        default=None,
    )
    avoid_limits: float | None = number(
        "bandwidth with which joints are pushed back from the last tenth of their range; if absent, none",
        "rad/s",
        default=None,
        above=0.0,
    )
    near: float = number(
        "damping threshold near singular configurations, as a share of the mean mobility of the hand",
        default=NEAR,
        above=0.0,
        maximum=1.0,
    )


@record
class LawOptions:
    """Gains and model of a law that is compiled or generated."""

    bandwidth: float = number(
        "bandwidth of critically damped gains, if no gains are given", "rad/s", default=BANDWIDTH, above=0.0
    )
    gains: Gains | None = declared(
        ObjectField(
            "gains of torques, or of accelerations for computed_torque; if absent, those of the bandwidth",
            (Gains,),
        ),
        default=None,
    )
    friction: bool = flag("whether friction is in the law's model", default=True)


@record
class RolloutLawOptions(LawOptions):
    """The same in a rollout."""

    open_gains: bool = flag(
        "whether gains are runtime inputs, so that other gains need no recompilation: `gains` of the "
        "controller, (3 n,) as `gains_row` makes them, or (B, 3 n)",
        default=False,
    )


@record
class CodeLawOptions(LawOptions):
    """The same in generated code."""

    period: float = number("sampling period", "s", default=PERIOD, above=0.0)
    most: ArrayLike | None = declared(
        ObjectField("torque limits (n,), N m (N); if absent, the joints' max_effort"), default=None
    )


TIMING, LOOP, COMPARISON, PRACTICE = LoopTiming(), LoopOptions(), ComparisonOptions(), PracticeOptions()
HAND, ROLLOUT_LAW, CODE_LAW = HandOptions(), RolloutLawOptions(), CodeLawOptions()
