"""Measurements on this machine, run by `forearm bench`, compared with peers if they are installed.

A benchmark returns rows; tests assert nothing about them.
"""
