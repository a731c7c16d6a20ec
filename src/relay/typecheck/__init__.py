"""Types: inference fills them in, queries look them up, a check verifies them."""
