"""Motions whose snap is continuous, as arms with elastic joints need: polynomials of ninth degree in time.

The motion (`motion`), the states at its points (`least_snap`), how long each leg takes (`leg_durations`),
what a request asks for (`planner`, `driven`), and who else has four derivatives (`derivatives`).
"""
