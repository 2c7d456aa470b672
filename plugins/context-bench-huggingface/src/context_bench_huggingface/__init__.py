"""Datasets of the Hugging Face Hub, streamed: any by its address, and every definition that names this loader.

The library ``datasets`` is imported when the first record is read, and not before.
"""

from context_bench_huggingface.loader import HubLoader, hf
from context_bench_huggingface.row import FIRST, Row

__all__ = ["FIRST", "HubLoader", "Row", "hf"]
