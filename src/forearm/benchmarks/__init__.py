"""Figures measured on this machine, now: run by `forearm bench`, beside peers where they are installed.

A benchmark returns rows; nothing here is asserted by a test.
"""
