"""The registered passes, one in a file, and what several of them share."""
