"""The page of each error code: `relay explain CODE`."""
