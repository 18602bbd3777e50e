"""What stands between motor and link: voltages, friction in bearings, gears and seals, over any scalar.

tau = T(rigid torque + bearings + friction on the joint's side, direction) + N^2 J qdd + friction on the
motor's side, T being the transmission's map. Each module is one of these; `joint` puts them together.
"""

from forearm.drives.joint import Drive, drives_of
from forearm.drives.motor import DAC, current_of, torque_of, voltage_of

__all__ = ["DAC", "Drive", "current_of", "drives_of", "torque_of", "voltage_of"]
