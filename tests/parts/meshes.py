"""Mesh files written by hand."""

from __future__ import annotations

from forearm.spatial import Floats


def binary_stl(triangles: Floats, header: bytes = b"") -> bytes:
    """Written by hand from the format: 80 bytes, a count, then 12 floats and a short to a triangle."""
    data = header.ljust(80, b"\0") + len(triangles).to_bytes(4, "little")
    for triangle in triangles:
        data += bytes(12) + triangle.astype("<f4").tobytes() + bytes(2)
    return data


def ascii_stl(triangles: Floats) -> bytes:
    lines = ["solid part"]
    for triangle in triangles:
        lines += ["  facet normal 0 0 0", "    outer loop"]
        lines += [f"      vertex {x:.17e} {y:.17e} {z:.17e}" for x, y, z in triangle]
        lines += ["    endloop", "  endfacet"]
    return ("\n".join(lines) + "\nendsolid part\n").encode()
