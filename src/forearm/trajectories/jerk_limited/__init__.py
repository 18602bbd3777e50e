"""Point-to-point motions under limits of velocity, acceleration and jerk, as in Ruckig.

One joint over any scalar (`extremal`, `duration`, `blend`, `braking`, `joint`), compiled (`compiled_joint`),
all joints synchronised (`lanes`), one plan (`planner`) and many (`plans`).
"""
