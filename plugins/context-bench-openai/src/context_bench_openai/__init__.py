"""OpenAI-compatible endpoints and proxies as systems, and the chat client that judges share."""

from context_bench_http.endpoint import Endpoint
from context_bench_http.errors import (
    ContextTooLongError,
    CredentialsRefusedError,
    DeclaredFailureError,
    EndpointError,
    EndpointTimeoutError,
    EndpointUnreachableError,
    EndpointURLError,
    RateLimitedError,
    RedirectRefusedError,
    RequestRefusedError,
    ServerFailedError,
    UnusableReplyError,
)
from context_bench_openai.client import ChatClient
from context_bench_openai.conversation import Replies
from context_bench_openai.layouts import build_messages
from context_bench_openai.proxy import OpenAIProxy
from context_bench_openai.reply import ChatReply, EmbeddingReply

__all__ = [
    "ChatClient",
    "ChatReply",
    "ContextTooLongError",
    "CredentialsRefusedError",
    "DeclaredFailureError",
    "EmbeddingReply",
    "Endpoint",
    "EndpointError",
    "EndpointTimeoutError",
    "EndpointURLError",
    "EndpointUnreachableError",
    "OpenAIProxy",
    "RateLimitedError",
    "RedirectRefusedError",
    "Replies",
    "RequestRefusedError",
    "ServerFailedError",
    "UnusableReplyError",
    "build_messages",
]
