"""Excitation motions: torque columns, information criteria, limits, and the optimisation of the motion."""
