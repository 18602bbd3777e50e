"""Closed-form inverse kinematics: the kind of arm read from its axes, every branch by square
roots and arctangents.

`recognition` finds the decoupling, `branches.solve` gives the branches over any scalar, `checked` and
`families` those that exist and count, `answering` and `following` what users ask for.
"""
