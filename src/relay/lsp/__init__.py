"""The language server: what an editor asks about programs, answered by the parser and by inference."""
