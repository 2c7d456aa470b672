"""Where an endpoint answers: base URLs as people write them, made into one URL to call."""

from __future__ import annotations

import base64
import ipaddress
import re
from dataclasses import dataclass, field, replace
from urllib.parse import (
    SplitResult,
    parse_qsl,
    quote,
    unquote,
    urlencode,
    urljoin,
    urlsplit,
    urlunsplit,
)

from yarl import URL

from context_bench_http.errors import EndpointURLError

_DEFAULT_PORTS = {"http": 80, "https": 443}
_VERSION_SEGMENT = re.compile(r"v\d+[a-z0-9]*", re.IGNORECASE)
_SECRET_NAME = re.compile(
    r"auth|key|token|secret|passw|credential|cookie|session|signature|^sig$|^code$", re.IGNORECASE
)
_KEY = re.compile(r".{16,}|(?=.*\d)(?=.*[^\W\d]).{8,}", re.DOTALL)
_REDACTED = "REDACTED"

_COMPLETE_PATHS = (
    ("models.github.ai", "inference"),
    ("models.inference.ai.azure.com", ""),
    ("services.ai.azure.com", "models"),
    ("azuredatabricks.net", "serving-endpoints"),
    ("databricks.com", "serving-endpoints"),
    ("api.deepseek.com", "beta"),
    ("api.perplexity.ai", ""),
    ("api.githubcopilot.com", ""),
)
"""Base URLs without a version as providers publish them: the end of the host, and the last segment of the path."""

CHAT = "chat/completions"
COMPLETIONS = "completions"
EMBEDDINGS = "embeddings"
MESSAGES = "messages"


@dataclass(frozen=True)
class Endpoint:
    """The URL of one operation of a server, chat completions unless said otherwise, with what may be shown of it.

    >>> Endpoint.parse("localhost:8080").url
    'http://localhost:8080/v1/chat/completions'
    >>> Endpoint.parse("https://api.example.com/v1/").url
    'https://api.example.com/v1/chat/completions'

    Attributes:
        url: The URL to post to, without user name and password.
        shown: The same URL with secret query values blanked: for messages, fingerprints and reports.
        label: ``host:port``, or ``host`` when the port is the default one.
        authorization: A ready ``Authorization`` value when the base URL held a user name or password.
        is_local: Whether the host is this machine.
        secrets: Texts that must not be shown.
    """

    url: str = field(repr=False)
    shown: str
    label: str
    authorization: str | None = field(default=None, repr=False)
    is_local: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def parse(cls, base_url: str) -> Endpoint:
        """Read a base URL, with or without ``/v1``, trailing slash or the whole path of an operation.

        A missing scheme means ``http`` for this machine. For other hosts it is refused, because guessing
        would send a key in clear text or fail late.

        Raises:
            EndpointURLError: The text is no base URL; the message says in one line what to write instead.
        """
        parts = _split(base_url)
        host, port = _host_and_port(parts, base_url)
        label = host if port is None else f"{host}:{port}"
        path = _path_of_chat(parts.path, host)
        address = urlunsplit((parts.scheme, label, path, parts.query, ""))
        url = _normalized(address, base_url)
        query, query_secrets = _without_secrets(parts.query)
        authorization = _basic_authorization(parts)
        return cls(
            url=url,
            shown=urlunsplit((parts.scheme, label, path, query, "")),
            label=label,
            authorization=authorization,
            is_local=_is_this_machine(host),
            secrets=(*credentials_of(parts), *query_secrets),
        )

    @classmethod
    def of_url(cls, url: str) -> Endpoint:
        """Read a URL that is called as it is written.

        >>> Endpoint.of_url("http://127.0.0.1:8787/v1/retrieve/5f3a").url
        'http://127.0.0.1:8787/v1/retrieve/5f3a'

        Raises:
            EndpointURLError: The text is no URL; the message says in one line what to write instead.
        """
        path = _split(url).path
        base = cls.parse(url)

        def at_path(address: str) -> str:
            return urlunsplit(urlsplit(address)._replace(path=path))

        return replace(base, url=_normalized(at_path(base.url), url), shown=at_path(base.shown))

    def at(self, operation: str) -> Endpoint:
        """Return the endpoint of another operation of the same server.

        >>> Endpoint.parse("localhost:8080").at("embeddings").url
        'http://localhost:8080/v1/embeddings'
        """
        return replace(
            self,
            url=_other_operation(self.url, operation),
            shown=_other_operation(self.shown, operation),
        )

    def follow(self, location: str) -> Endpoint | None:
        """Return the endpoint that a redirect points to when it is on the same host, else None.

        Another port or another scheme is another host.
        """
        here = urlsplit(self.url)
        try:
            there = urlsplit(urljoin(self.url, location))
            if _origin(there) != _origin(here):
                return None
            address = there._replace(netloc=there.netloc.rpartition("@")[2], fragment="")
            url = str(URL(urlunsplit(address)))
        except ValueError:
            return None
        query, query_secrets = _without_secrets(there.query)
        return replace(
            self,
            url=url,
            shown=urlunsplit(address._replace(query=query)),
            secrets=(*self.secrets, *query_secrets),
        )


def _normalized(address: str, base_url: str) -> str:
    try:
        return str(URL(address))
    except ValueError as error:
        raise _refusal(base_url, f"the address is not valid ({error})") from None


def _other_operation(url: str, operation: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=parts.path.removesuffix(CHAT) + operation))


def names_a_secret(name: str) -> bool:
    """Tell whether a header or query parameter of this name usually holds a credential.

    >>> names_a_secret("x-api-key"), names_a_secret("x-kompact-tokens-saved")
    (True, False)
    """
    return bool(_SECRET_NAME.search(re.sub(r"tokens", "", name, flags=re.IGNORECASE)))


def _split(base_url: str) -> SplitResult:
    if not isinstance(base_url, str):
        raise EndpointURLError(
            f"A base URL is text such as 'http://localhost:8080', not {type(base_url).__name__}."
        )
    text = base_url.strip()
    if not text:
        raise EndpointURLError("The base URL is empty. Write one such as 'http://localhost:8080'.")
    if (
        any(character.isspace() or not character.isprintable() for character in text)
        or "\\" in text
    ):
        raise _refusal(base_url, "it holds white space, a backslash or a control character")
    try:
        if "://" not in text:
            guessed = urlsplit(f"http://{text.lstrip('/')}")
            if not _is_this_machine(guessed.hostname or ""):
                raise _refusal(
                    base_url, "there is no scheme; write 'https://HOST' or 'http://HOST:PORT'"
                )
            return guessed
        parts = urlsplit(text)
    except EndpointURLError:
        raise
    except ValueError as error:
        raise _refusal(base_url, str(error)) from None
    if parts.scheme not in _DEFAULT_PORTS:
        raise _refusal(base_url, f"the scheme is {parts.scheme!r}; it must be http or https")
    return parts


def _host_and_port(parts: SplitResult, base_url: str) -> tuple[str, int | None]:
    host = parts.hostname
    if not host:
        raise _refusal(base_url, "there is no host in it")
    location = parts.netloc.rpartition("@")[2]
    if ":" in host:
        try:
            ipaddress.IPv6Address(host)
        except ValueError:
            raise _refusal(base_url, f"{host!r} is no IPv6 address") from None
    elif location.count(":") > 1:
        raise _refusal(base_url, "an IPv6 address stands in brackets, as in 'http://[::1]:8080'")
    try:
        port = parts.port
    except ValueError:
        raise _refusal(base_url, "the port must be a number from 1 to 65535") from None
    if port == 0 or location.endswith(":"):
        raise _refusal(base_url, "the port must be a number from 1 to 65535")
    if set(host) & set("<>\"{}|^`*,;!$&'()=+%"):
        raise _refusal(base_url, f"{host!r} is no host name")
    return _bracketed(host), None if port == _DEFAULT_PORTS[parts.scheme] else port


def _path_of_chat(path: str, host: str) -> str:
    """Return the path of chat completions.

    ``/v1`` is added unless the path names a version already (``/v1``, ``/api/v3``, ``/v1beta/openai``), an Azure
    deployment, an operation such as ``/chat/completions``, which is then replaced, or is complete as its provider
    publishes it.
    """
    segments = [segment for segment in path.split("/") if segment]
    for operation in (CHAT, COMPLETIONS, EMBEDDINGS, MESSAGES):
        named = operation.split("/")
        if segments[-len(named) :] == named:
            return "/" + "/".join([*segments[: -len(named)], CHAT])
    has_version = any(map(_VERSION_SEGMENT.fullmatch, segments)) or "deployments" in segments
    if not has_version and not _is_complete(host, segments[-1] if segments else ""):
        segments.append("v1")
    return "/" + "/".join([*segments, CHAT])


def _is_complete(host: str, last_segment: str) -> bool:
    return any(
        (host == end or host.endswith(f".{end}")) and last_segment == segment
        for end, segment in _COMPLETE_PATHS
    )


def _without_secrets(query: str) -> tuple[str, list[str]]:
    pairs = parse_qsl(query, keep_blank_values=True)
    secrets = [value for name, value in pairs if names_a_secret(name)]
    shown = [(name, _REDACTED if names_a_secret(name) else value) for name, value in pairs]
    return urlencode(shown), [*secrets, *(quote(secret, safe="") for secret in secrets)]


def _basic_authorization(parts: SplitResult) -> str | None:
    if parts.username is None and parts.password is None:
        return None
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return "Basic " + base64.b64encode(pair.encode("utf-8", "surrogateescape")).decode("ascii")


def credentials_of(parts: SplitResult) -> tuple[str, ...]:
    """Return the texts that must not be shown of the user and the password in a URL.

    A user is one of them where no password stands beside it, or where it looks like a key.

    >>> credentials_of(urlsplit("http://me:pass-word@host")), credentials_of(urlsplit("http://host"))
    (('pass-word', 'pass-word', 'bWU6cGFzcy13b3Jk'), ())
    """
    pair = (_basic_authorization(parts) or "")[6:]
    user = unquote(parts.username or "")
    password = parts.password or ""
    users = (user, parts.username or "") if not password or _KEY.fullmatch(user) else ()
    return tuple(filter(None, (password, unquote(password), *users, pair)))


def _is_this_machine(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _origin(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port or _DEFAULT_PORTS.get(parts.scheme)


def _refusal(base_url: str, reason: str) -> EndpointURLError:
    """Say what is wrong with a base URL, without the credentials in it."""
    scheme, separator, rest = base_url.strip().partition("?")[0].rpartition("//")
    shown = scheme + separator + re.sub(r"^[^/]*@", "", rest)
    return EndpointURLError(f"The base URL {shown!r} cannot be used: {reason}.")
