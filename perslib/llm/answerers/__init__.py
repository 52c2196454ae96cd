"""What answers a question: an endpoint, the embedded model, a dry run."""
