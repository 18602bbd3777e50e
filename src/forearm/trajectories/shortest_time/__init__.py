"""The shortest time along a path: how fast s may go so that every limit of the arm holds.

With x = (ds/dt)^2 and u = d2s/dt2 each limit bounds u at given s and x; passes along a grid of s do the rest.
"""
