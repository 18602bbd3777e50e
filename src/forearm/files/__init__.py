"""Reading and writing arms: the TOML arm file, URDF, MJCF, and the built-in arms.

`load` reads any file; `mjcf.compiled.from_mujoco` and `pinocchio_model.from_pinocchio` convert models in
memory; `Arm.save`, `Arm.to_urdf` and `Arm.to_mjcf` write.
"""

from forearm.files.builtin import arms
from forearm.files.load import load

__all__ = ["arms", "load"]
