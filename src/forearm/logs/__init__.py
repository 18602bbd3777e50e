"""Long tables of joint states, CSV and Parquet: which column is which quantity,
read and written block by block.

A file may be larger than memory; nobody vouches for it. Nothing in here knows what an arm
is or what is computed.
"""
