"""Motions of continuous snap, as arms with elastic joints need: polynomials of ninth degree in time.

The motion (`motion`), the states at its points (`least_snap`), segment durations (`leg_durations`), planning
(`planner`, `driven`), and the derivatives of other motions (`derivatives`).
"""
