def c_source(text, names, version): return ""
