"""The arm model: links, joints and drives as frozen data, the tree they form, and modified copies.

File formats and dynamics live elsewhere.
"""

from forearm.arm.arm import Arm, Hand
from forearm.arm.dh import from_dh
from forearm.arm.drive import Bearing, Elasticity, Friction, Motor, Transmission
from forearm.arm.joint import DH, Frame, Joint, Limits, Mimic
from forearm.arm.link import Link

__all__ = [
    "DH",
    "Arm",
    "Bearing",
    "Elasticity",
    "Frame",
    "Friction",
    "Hand",
    "Joint",
    "Limits",
    "Link",
    "Mimic",
    "Motor",
    "Transmission",
    "from_dh",
]
