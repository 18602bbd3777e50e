"""Sampling of a study's rows: distributions of variables, their correlation, and designs.

Every row is computed from the seed and its own number, independent of the block of rows requested.
"""
