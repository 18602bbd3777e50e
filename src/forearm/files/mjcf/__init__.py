"""MJCF, the XML of MuJoCo, read the way MuJoCo compiles it: from defaults to links and joints.

`read` and `write` are the entry points. The other modules follow the file: `include`, `settings`, `defaults`,
`orientation`, `geoms`, `bodies`, `drives`; they build a `tree`, which `assemble` turns into an arm.
"""
