"""Programs as pictures: graphs, DOT, SVG, and pages that stand alone."""
