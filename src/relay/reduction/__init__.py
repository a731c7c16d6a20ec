"""A program made small that still shows what is wrong with it."""
