"""`python -m perslib`."""

from perslib.cli import main

main()
