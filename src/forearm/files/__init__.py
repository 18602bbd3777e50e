"""Arms in and out of files: the TOML arm file, URDF, and the built-in arms.

`load` is the one door in; `Arm.save` and `Arm.to_urdf` are the doors out.
"""

from forearm.files.builtin import arms
from forearm.files.load import load

__all__ = ["arms", "load"]
