"""The results folder: the manifest of its study, and Parquet parts that are written atomically.

Any process may be killed at any moment, and several may write at once.
"""
