"""Every answer is kept, by the content of its question; processes that share a cache share their questions."""
