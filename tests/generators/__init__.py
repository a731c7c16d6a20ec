"""Random programs: of every form (`forms`), and well-typed ones that end (`typed`)."""
