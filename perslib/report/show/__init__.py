"""What a page shows: HTML, tables, plots, LaTeX and words."""
