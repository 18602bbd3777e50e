"""Drive limits of an arm, torque, current and voltage, and the share that a motion uses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from forearm.arm.arm import Arm
from forearm.drives.motor import DAC, amplifier_gains, constants_of
from forearm.spatial import Floats
from forearm.values import frozen

Quantity = Literal["torque", "current", "voltage", "DAC", "position", "velocity", "acceleration", "box"]
# Unit, and description of the limit.
WORDS: dict[Quantity, tuple[str, str]] = {
    "torque": ("N m (N)", "available"),
    "current": ("A", "limit of its motor"),
    "voltage": ("V", "limit of its motor"),
    "DAC": ("V", "limit of its DAC and amplifier"),
    "position": ("rad (m)", "allowed from the middle of its range"),
    "velocity": ("rad/s (m/s)", "allowed"),
    "acceleration": ("rad/s^2 (m/s^2)", "allowed"),
    "box": ("m", "allowed from the middle of its box"),
}


@dataclass(frozen=True)
class LimitUse:
    """Largest use of one limit by a motion: of a joint, of its drive or of the hand's box.

    Attributes:
        joint: its name; of a box "hand x", "hand y" or "hand z".
        quantity: "torque", "current" or "voltage"; of exciting motions "position" to "box" too.
        needed, allowed: demand of the motion and the limit, in SI units.
        time: time of the largest demand, s.
    """

    joint: str
    quantity: Quantity
    needed: float
    allowed: float
    time: float

    @property
    def share(self) -> float:
        """needed / allowed: above 1 the limit is exceeded."""
        return self.needed / self.allowed if self.allowed > 0.0 else np.inf if self.needed > 0.0 else 0.0

    @property
    def text(self) -> str:
        """As a sentence."""
        unit, whose = WORDS[self.quantity]
        return f"{self.joint} needs {self.needed:.4g} of the {self.allowed:g} {unit} {whose}."


@frozen
class DriveLimits:
    """Limits of each degree of freedom, (n,): torque, current and voltage, infinite where undefined.

    `converter` is the voltage range of a DAC with its amplifiers. K = N Kt and R are 1 and 0 for undefined
    motors. Inductance is not included in the voltages, as accelerations jump.
    """

    names: tuple[str, ...]
    effort: Floats
    current: Floats
    voltage: Floats
    converter: Floats
    K: Floats
    R: Floats

    @staticmethod
    def of(arm: Arm, dac: DAC | None = None) -> DriveLimits:
        """Limits of an arm behind a DAC; ModelError if the DAC's voltages are undefined."""
        n = arm.n
        effort, current, voltage, converter = np.full((4, n), np.inf)
        K, R = np.ones(n), np.zeros(n)
        for i, joint in enumerate(arm.joints):
            effort[i] = np.inf if joint.max_effort is None else joint.max_effort
            motor = joint.motor
            if motor is None or motor.torque_constant is None:
                continue
            K[i] = motor.gear_ratio * motor.torque_constant
            current[i] = np.inf if motor.max_current is None else motor.max_current
            if motor.resistance is not None:
                R[i] = motor.resistance
                voltage[i] = np.inf if motor.max_voltage is None else motor.max_voltage
        if dac is not None and dac.span is not None:
            constants_of(arm)
            # 0 is one of its levels, so that the upper end is half a step lower
            most = dac.span if dac.bits is None else dac.span * (1.0 - 0.5**dac.bits)
            converter = most * np.abs(dac.gain * amplifier_gains(arm, dac))
        return DriveLimits(tuple(j.name for j in arm.joints), effort, current, voltage, converter, K, R)

    @cached_property
    def torque(self) -> Floats:
        """Torque limit by effort and current."""
        return np.minimum(self.effort, np.abs(self.K) * self.current)

    @cached_property
    def volts(self) -> Floats:
        """Voltage limit by motor and DAC."""
        return np.minimum(self.voltage, self.converter)

    @cached_property
    def by_voltage(self) -> bool:
        """Whether any joint has a voltage limit."""
        return bool(np.isfinite(self.volts).any())

    @cached_property
    def at_rest(self) -> Floats:
        """Torque limit at rest, where the full voltage drives the current."""
        K = np.abs(self.K)
        by_voltage = np.divide(K * self.volts, self.R, out=np.full_like(K, np.inf), where=self.R > 0.0)
        return np.minimum(self.torque, by_voltage)

    def shares(self, tau: Floats, qd: Floats) -> Floats:
        """Largest of |needed| / allowed over all limits, for torques and velocities (..., n)."""
        used: Floats = np.abs(tau) / self.torque
        if self.by_voltage:
            np.maximum(used, np.abs(self.R / self.K * tau + self.K * qd) / self.volts, out=used)
        return used

    def spare(self, need: Floats, speed: Floats) -> Floats:
        """Torque left for accelerating and for braking, if moving at a speed takes `need` in its direction,
        (..., n) each.
        """
        left: Floats = self.torque - np.abs(need)
        if self.by_voltage:
            back = np.abs(self.K) * speed
            factor = np.divide(np.abs(self.K), self.R, out=np.full(len(self.R), np.inf), where=self.R > 0.0)
            bounded = np.isfinite(self.volts)
            volts, factor = np.where(bounded, self.volts, 0.0), np.where(bounded, factor, 1.0)
            up, down = (volts - back) * factor - need, (volts + back) * factor + need
            left = np.where(bounded, np.minimum(left, np.minimum(up, down)), left)
        return left

    def uses(self, t: Floats, tau: Floats, qd: Floats) -> tuple[LimitUse, ...]:
        """Largest use of each limit by each joint that has one, at times (m,); NaN is ignored."""
        needs: dict[Quantity, tuple[Floats, Floats]] = {
            "torque": (tau, self.effort),
            "current": (tau / self.K, self.current),
            "voltage": (self.R / self.K * tau + self.K * qd, self.voltage),
            "DAC": (self.R / self.K * tau + self.K * qd, self.converter),
        }
        found = []
        for quantity, (needed, allowed) in needs.items():
            sizes = np.nan_to_num(np.abs(needed[:, np.isfinite(allowed)]))
            for i, size in zip(np.flatnonzero(np.isfinite(allowed)), sizes.T, strict=True):
                k = int(size.argmax())
                use = LimitUse(self.names[i], quantity, float(size[k]), float(allowed[i]), float(t[k]))
                found.append(use)
        return tuple(found)
