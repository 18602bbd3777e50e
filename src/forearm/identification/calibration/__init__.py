"""Kinematic calibration from measured poses or points of the hand: the unknowns, the fit with confidence
intervals, and which parameters the data cannot determine.
"""
