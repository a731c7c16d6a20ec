"""Programs that are stopped, looked at and stepped through, on the interpreter."""
