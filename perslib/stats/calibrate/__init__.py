"""From a judge's scores to scores on the user's own scale, and to sets of scores."""
