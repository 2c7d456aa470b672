"""What the packages that ask a model's server share: JSON over HTTP, headers, retries, errors."""

from context_bench_http.dialect import Dialect, Stream
from context_bench_http.endpoint import Endpoint, names_a_secret
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
from context_bench_http.extra_body import read_extra_body
from context_bench_http.headers import DEFAULT_FAILURE_HEADERS, FailureHeaders, recorded_headers
from context_bench_http.http_client import HttpClient
from context_bench_http.incoming import IncomingResponse
from context_bench_http.json_client import JsonClient
from context_bench_http.network import Network
from context_bench_http.redaction import Redactor
from context_bench_http.request import HttpRequest
from context_bench_http.request_headers import check_header_value, header_mapping, headers_identity
from context_bench_http.retrying import Retries, wait_asked_for
from context_bench_http.usage import add_usage

__all__ = [
    "ContextTooLongError",
    "CredentialsRefusedError",
    "DEFAULT_FAILURE_HEADERS",
    "DeclaredFailureError",
    "Dialect",
    "Endpoint",
    "EndpointError",
    "EndpointTimeoutError",
    "EndpointURLError",
    "EndpointUnreachableError",
    "FailureHeaders",
    "HttpClient",
    "HttpRequest",
    "IncomingResponse",
    "JsonClient",
    "Network",
    "RateLimitedError",
    "Redactor",
    "RedirectRefusedError",
    "RequestRefusedError",
    "Retries",
    "ServerFailedError",
    "Stream",
    "UnusableReplyError",
    "add_usage",
    "check_header_value",
    "header_mapping",
    "headers_identity",
    "names_a_secret",
    "read_extra_body",
    "recorded_headers",
    "wait_asked_for",
]
