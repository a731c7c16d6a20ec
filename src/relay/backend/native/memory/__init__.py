"""How values lie in memory, and the code that makes, reads and shares them."""
