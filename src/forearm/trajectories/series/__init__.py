"""Motions that repeat: for each joint a sum of functions of time, Fourier's or B-splines, from rest to rest
in one posture.
"""
