"""The classical controllers, which differ in what they compute from the model and what from the error.

Each is constructed as `Name(arm, ...)` with its model of the arm, and called by the loop for torques.
"""
