"""How the network is reached: through which HTTP proxy, and which certificates are trusted on the way."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from context_bench_http.endpoint import credentials_of


@dataclass(frozen=True)
class Network:
    """The way to a host.

    Attributes:
        http_proxy: URL of a forward proxy that all requests take; None for those that ``HTTP_PROXY`` and its relatives name.
        ca_bundle: PEM file, or directory of them, with the certificates to trust; None for certifi's, or those that
            ``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` name.
        client_cert: PEM file with a client certificate and its key, or ``CERTIFICATE,KEY``.
        verify: Whether a server must prove its identity.
        is_local: Whether the host is this machine: proxies of the environment are not used for it.

    Raises:
        ValueError: A file does not exist, or the proxy cannot be used.
    """

    http_proxy: str | None = field(default=None, repr=False)
    ca_bundle: str | None = None
    client_cert: str | None = None
    verify: bool = True
    is_local: bool = False

    def __post_init__(self) -> None:
        if self.ca_bundle is not None and not self.verify:
            raise ValueError(
                "Give a ca_bundle or verify=False, not both: without verification nothing is compared."
            )
        _check_files("ca_bundle", [self.ca_bundle] if self.ca_bundle else [])
        _check_files("client_cert", self._client_cert_paths())
        if self.ca_bundle is not None or self.client_cert is not None:
            self.certificates()
        if self.http_proxy is not None:
            _check_proxy(self.http_proxy)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must not be shown."""
        return credentials_of(urlsplit(self.http_proxy or ""))

    def proxy_for(self, url: str) -> str | None:
        """Return the URL of the proxy that requests to a URL take, None for none."""
        if self.http_proxy is not None:
            return self.http_proxy
        if self.is_local:
            return None
        parts = urlsplit(url)
        proxies = getproxies()
        proxy = proxies.get(parts.scheme) or proxies.get("all")
        if not proxy or proxy_bypass(parts.hostname or ""):
            return None
        return proxy if "://" in proxy else f"http://{proxy}"

    def certificates(self) -> ssl.SSLContext:
        """Return what TLS connections are checked by.

        Raises:
            ValueError: A file holds no certificate or key that can be read.
        """
        try:
            context = self._trusted()
            if self.client_cert is not None:
                context.load_cert_chain(*self._client_cert_paths())
        except OSError as error:  # ssl.SSLError is one
            raise ValueError(
                f"The certificates (ca_bundle={self.ca_bundle!r}, client_cert={self.client_cert!r}) cannot be used: {error}."
            ) from error
        return context

    def _trusted(self) -> ssl.SSLContext:
        if not self.verify:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            return context
        if self.ca_bundle is not None:
            if os.path.isdir(self.ca_bundle):
                return ssl.create_default_context(capath=self.ca_bundle)
            return ssl.create_default_context(cafile=self.ca_bundle)
        cafile = os.environ.get("SSL_CERT_FILE")
        capath = os.environ.get("SSL_CERT_DIR")
        if cafile or capath:
            return ssl.create_default_context(cafile=cafile or None, capath=capath or None)
        import certifi

        return ssl.create_default_context(cafile=certifi.where())

    def _client_cert_paths(self) -> list[str]:
        return [path.strip() for path in self.client_cert.split(",")] if self.client_cert else []


def _check_files(option: str, paths: list[str]) -> None:
    for path in paths:
        if not os.path.exists(path):
            raise ValueError(f"{option}: there is no file {path!r}.")


def _check_proxy(url: str) -> None:
    shown = url.rpartition("@")[2]
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise ValueError(
            f"The http_proxy {shown!r} cannot be used: it must be http://HOST:PORT or https://HOST:PORT."
        )
