"""What an arm looks like, as triangles: read from its file, or drawn from its joints alone.

`load` reads, `mesh_files` and `collada` read meshes, `reduction` makes them small, `skeleton` draws arms that
have none, `scene` puts it together for a page.
"""
