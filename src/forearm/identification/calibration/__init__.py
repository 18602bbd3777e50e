"""Geometry from measured poses or points of the hand: what is unknown, the fit with its intervals, and what
the postures cannot tell.
"""
