"""Rules about programs that are right and could be written better, with the edits that do it."""
