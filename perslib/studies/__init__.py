"""What the notebooks compute and draw: one module a study, so that their cells stay short enough to read."""
