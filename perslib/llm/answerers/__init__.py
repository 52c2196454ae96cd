"""What answers a question: an endpoint, the embedded model, a batch."""
