"""The dataflow pattern language; its public names are in `relay.dataflow_pattern`."""
