"""A folder of results: the manifest of its study, and parts in Parquet that are written whole or not at all.

Any process may be killed at any moment, and several may write at once.
"""
