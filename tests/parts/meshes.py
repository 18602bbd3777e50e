"""Mesh files written by hand."""

from __future__ import annotations

from forearm.spatial import Floats


def binary_stl(triangles: Floats, header: bytes = b"") -> bytes:
    """Written by hand from the format: 80 bytes, a count, then 12 floats and a short to a triangle."""
    data = header.ljust(80, b"\0") + len(triangles).to_bytes(4, "little")
    for triangle in triangles:
        data += bytes(12) + triangle.astype("<f4").tobytes() + bytes(2)
    return data
