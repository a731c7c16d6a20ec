"""Programs that were written for other systems, run unchanged."""
