"""How well good is told from bad, with verdicts or with probabilities."""
