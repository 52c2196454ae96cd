"""PAL-Bench: what a memory is worth when requirements are restated, solutions proposed and chosen, and talked over."""
