"""The runtime that all compiled programs of a process share: memory, threads, entry and interruption."""
