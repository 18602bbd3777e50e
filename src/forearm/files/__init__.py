"""Arms in and out of files: the TOML arm file, URDF, MJCF, and the built-in arms.

`load` is the one door in, `mjcf.compiled.from_mujoco` and `pinocchio_model.from_pinocchio` are those for
models in memory; `Arm.save`, `Arm.to_urdf` and `Arm.to_mjcf` are the doors out.
"""

from forearm.files.builtin import arms
from forearm.files.load import load

__all__ = ["arms", "load"]
