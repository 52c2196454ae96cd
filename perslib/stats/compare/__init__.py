"""Whether one method is better than another, and what a comparison needs."""
