"""One loader per format: from files as they are released to a corpus."""
