"""The Anthropic Messages API, and proxies in front of it, as a system."""

from context_bench_anthropic.client import MessagesClient
from context_bench_anthropic.proxy import AnthropicProxy
from context_bench_anthropic.reply import MessageReply

__all__ = ["AnthropicProxy", "MessageReply", "MessagesClient"]
