"""Batches: many questions in one file, answered within a day, at a part of the price.

    write_batches(file)   what a rehearsal collected → batches, a folder each in `.perslib/batches`
    submit(batch)         send it to its endpoint, once
    fetch(batch)          wait for it, and take the answers into the cache
    read_files(files)     take results that came another way (`vllm run-batch`)

What is lost, fails, or cannot be read has no answer then, and is asked in the next batch, or by the page that needs it.
"""

from perslib.llm.batches.results import BatchResult
from perslib.llm.batches.store import Batch, batches, delete_batch, folder, read_batch, read_files, write_batches
from perslib.llm.batches.submission import check_takes_batches, fetch, send_batch

__all__ = [
    "Batch", "BatchResult", "batches", "check_takes_batches", "delete_batch", "fetch", "folder", "read_batch",
    "read_files", "send_batch", "write_batches",
]  # fmt: skip
