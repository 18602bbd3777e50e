"""Drive models over any scalar: voltages, friction in bearings, gears and motors, and compliance.

tau = T(rigid torque + bearings + joint-side friction, direction) + N^2 J qdd + motor-side friction, with T
the map of the transmission. Each module models one term; `joint` combines them.
"""

from forearm.drives.joint import Drive, drives_of
from forearm.drives.motor import DAC, current_of, torque_of, voltage_of

__all__ = ["DAC", "Drive", "current_of", "drives_of", "torque_of", "voltage_of"]
