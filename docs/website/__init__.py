"""The documentation as a site: what gathers and generates its pages, and what Sphinx needs to know."""
