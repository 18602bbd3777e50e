"""Motions that show the parameters of an arm: columns of its torques, what they tell, limits, and the search
for the motion that tells most.
"""
