"""MJCF, the XML of MuJoCo: read as MuJoCo compiles it, from its defaults to the links and joints of an arm.

`read` is the way in and `write` the way out; the modules between follow the file: `include`, `settings`,
`defaults`, `orientation`, `geoms`, `bodies`, `drives`; what they find is a `tree`, which `assemble` makes an
arm of.
"""
