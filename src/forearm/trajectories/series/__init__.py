"""Periodic motions: for each joint a Fourier or B-spline series in time, from rest to rest in one
configuration.
"""
