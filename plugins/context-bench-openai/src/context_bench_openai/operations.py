"""What a server can be asked for, and how its answers are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from context_bench_http import endpoint
from context_bench_openai.reply import (
    ChatReply,
    EmbeddingReply,
    read_chat,
    read_embeddings,
    read_text_completion,
)

_Reply = TypeVar("_Reply")


@dataclass(frozen=True)
class Operation(Generic[_Reply]):
    """One kind of request.

    Attributes:
        path: What stands behind the base URL.
        read: Makes the reply of where it came from, the body's content, and what is known besides.
    """

    path: str
    read: Callable[..., _Reply]


CHAT: Operation[ChatReply] = Operation(endpoint.CHAT, read_chat)
COMPLETIONS: Operation[ChatReply] = Operation(endpoint.COMPLETIONS, read_text_completion)
EMBEDDINGS: Operation[EmbeddingReply] = Operation(endpoint.EMBEDDINGS, read_embeddings)
