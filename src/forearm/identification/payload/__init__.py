"""Payload estimation: ten parameters of the load in the hand from test torques or a log, with intervals, and
the nearest physical body.
"""
