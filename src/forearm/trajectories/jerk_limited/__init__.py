"""Point-to-point motions under limits of velocity, acceleration and jerk: Ruckig's problem.

One joint over any scalar (`extremal`, `duration`, `blend`, `braking`, `joint`), compiled (`compiled_joint`),
all joints in step (`lanes`), one plan (`planner`) and many (`plans`).
"""
