"""Batches: many questions in one file, answered within a day, at a part of the price.

    write_batches(file)   what a rehearsal collected → batches, a folder each in `.perslib/batches`
    send_batch(batch)     send it to its endpoint, once
    fetch(batch)          wait for it, and take the answers into the cache
    store_result_files(files)   take results that came another way (`vllm run-batch`)

What is lost, fails, or cannot be read has no answer then, and is asked in the next batch, or by the page that needs it.
"""

from perslib.systems.batches.files import (
    Batch,
    delete_batch,
    folder,
    list_batches,
    read_batch,
    store_result_files,
    write_batches,
)
from perslib.systems.batches.results import BatchResult
from perslib.systems.batches.submission import check_takes_batches, fetch, send_batch

__all__ = [
    "Batch",
    "BatchResult",
    "check_takes_batches",
    "delete_batch",
    "fetch",
    "folder",
    "list_batches",
    "read_batch",
    "send_batch",
    "store_result_files",
    "write_batches",
]  # fmt: skip
