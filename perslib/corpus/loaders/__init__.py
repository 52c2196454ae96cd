"""One loader a format: from files as they are released to a corpus."""
