"""How sure a number is: each user left out once, from sums by user."""
