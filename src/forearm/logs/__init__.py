"""Large tables of joint states, CSV and Parquet: column recognition, and blockwise reading and writing.

Files may be larger than memory and are untrusted. This package knows nothing about arms or what is computed.
"""
