"""Time-optimal path parametrisation: the fastest s(t) that respects every limit of the arm.

With x = (ds/dt)^2 and u = d2s/dt2 each limit bounds u at given s and x; passes along a grid of s do the rest.
"""
