"""Closed-form inverse kinematics: the type of arm is recognised from its axes, and every branch is computed
by square roots and arctangents.

`recognition` finds the decoupling, `branches.solve` computes the branches over any scalar, `checked` and
`families` select the existing and valid ones, `solve` and `following` are the public functions.
"""
