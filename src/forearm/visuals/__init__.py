"""Visual shapes of an arm as triangles: read from its file, or generated from its joints.

`load` reads shapes, `mesh_files` and `collada` read meshes, `reduction` simplifies them, `skeleton_shapes`
draws arms without shapes, `scene` assembles everything for a page.
"""

from forearm.visuals.ellipsoids import Ellipsoid, ellipsoid
from forearm.visuals.load import load_visuals
from forearm.visuals.mesh import TriangleMesh
from forearm.visuals.reduction import reduced
from forearm.visuals.scene import scene
from forearm.visuals.visual import MissingVisual, Visual, VisualSet

__all__ = [
    "Ellipsoid",
    "MissingVisual",
    "TriangleMesh",
    "Visual",
    "VisualSet",
    "ellipsoid",
    "load_visuals",
    "reduced",
    "scene",
]
