"""What is in the hand: its ten parameters from test forces or a log, with intervals, and the body nearest
to them.
"""
