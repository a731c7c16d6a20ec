"""The Python side: compiling, caching, loading and calling programs."""
