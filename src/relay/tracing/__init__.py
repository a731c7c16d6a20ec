"""Relay functions from Python ones, by running them on traced values.

`function.py` has what `relay.function` makes, `trace.py` one run of the Python function, `value.py` what it
is run on; `pytree.py` the structures of arguments and results, `derivatives.py` what differentiates,
`branches.py`, `loops.py` and `scans.py` what branches and loops.
"""
