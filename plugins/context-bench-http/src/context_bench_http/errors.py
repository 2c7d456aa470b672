"""What can go wrong between us and an endpoint.

    EndpointError                a call that gave no usable reply
     +- EndpointUnreachableError      no connection, or one that broke
     +- EndpointTimeoutError          no complete reply in time
     +- RequestRefusedError           the server answered 4xx
     |   +- CredentialsRefusedError   401 or 403
     |   +- ContextTooLongError       the prompt does not fit the model
     |   +- RateLimitedError          429
     +- ServerFailedError             the server answered 5xx, or an error inside a 200
     +- RedirectRefusedError          the server pointed to another host
     +- UnusableReplyError            a 200 whose body is not what was asked for
     +- DeclaredFailureError          a proxy said in a header that it did not do its work

    EndpointURLError             a base URL that cannot be one (a ValueError, raised before any call)

Every message is one line that names the endpoint without secrets and carries the server's own words, if there are any.
"""

from __future__ import annotations

from collections.abc import Mapping


class EndpointError(RuntimeError):
    """A call gave no usable reply.

    Attributes:
        status: The HTTP status, or None when none was received.
        retryable: Whether the same request may succeed later.
        attempts: How many requests were sent before giving up.
        retry_after: Seconds that the server asked to wait, or None when it did not say.
        headers: What the response's headers said of limits and of the server's work, without secrets, names in lower case.
        finding: What `context-bench preflight` calls it; None leaves that to the status.
    """

    finding: str | None = None

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        self.message = message
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after
        self.headers: Mapping[str, str] = {}
        self.attempts = 1
        super().__init__(message)

    def __str__(self) -> str:
        return (
            self.message
            if self.attempts == 1
            else f"{self.message} (gave up after {self.attempts} attempts)"
        )


class EndpointUnreachableError(EndpointError):
    """No connection could be made, or the connection broke before the reply was complete."""

    finding = "unreachable"


class EndpointTimeoutError(EndpointError):
    """No complete reply arrived in time."""

    finding = "timeout"


class RequestRefusedError(EndpointError):
    """The server refused the request (4xx)."""


class CredentialsRefusedError(RequestRefusedError):
    """The server did not accept the key (401, 403)."""


class ContextTooLongError(RequestRefusedError):
    """The prompt is longer than the model's context."""

    finding = "context-too-long"


class RateLimitedError(RequestRefusedError):
    """The server is asked too often, or the account has nothing left (429)."""


class ServerFailedError(EndpointError):
    """The server failed (5xx, or an error object in a 200)."""


class RedirectRefusedError(EndpointError):
    """The server points elsewhere, and neither prompt nor key is sent there."""

    finding = "wrong-url"


class UnusableReplyError(EndpointError):
    """The server said 200, and the body is not what was asked for."""

    finding = "unusable-reply"


class DeclaredFailureError(EndpointError):
    """A response header declares that the proxy did not do its work."""

    finding = "fails-open"


class EndpointURLError(ValueError):
    """A base URL that cannot be called."""
