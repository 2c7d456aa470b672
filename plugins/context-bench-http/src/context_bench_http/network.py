"""How the network is reached: through which HTTP proxy, and whom to trust on the way."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field
from importlib.util import find_spec
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from context_bench_http.endpoint import credentials_of


@dataclass(frozen=True)
class Network:
    """The way to a host.

    Attributes:
        http_proxy: URL of a forward proxy that all requests take; None for those that ``HTTP_PROXY`` and its relatives name.
        ca_bundle: PEM file, or directory of them, with the certificates to trust; None for certifi's, or those that
            ``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` name.
        client_cert: PEM file with a client certificate and its key, or ``CERTIFICATE,KEY``.
        verify: Whether a server must prove who it is.
        is_local: Whether the host is this machine: proxies of the environment are not asked for it.

    Raises:
        ValueError: A file is not there, or the proxy cannot be one.
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
        for option, paths in (
            ("ca_bundle", [self.ca_bundle]),
            ("client_cert", self._client_cert_paths()),
        ):
            for path in filter(None, paths):
                if not os.path.exists(path):
                    raise ValueError(f"{option}: there is no file {path!r}.")
        if self.ca_bundle is not None or self.client_cert is not None:
            self.certificates(needed=True)
        if self.http_proxy is not None:
            _check_proxy(self.http_proxy)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must not be shown."""
        return credentials_of(urlsplit(self.http_proxy or ""))

    def is_direct(self, url: str) -> bool:
        """Tell whether no proxy stands between us and a URL."""
        if self.http_proxy is not None:
            return False
        parts = urlsplit(url)
        proxies = getproxies()
        named = proxies.get(parts.scheme) or proxies.get("all")
        return self.is_local or not named or bool(proxy_bypass(parts.hostname or ""))

    def certificates(self, needed: bool) -> ssl.SSLContext:
        """Return what TLS connections are checked by.

        Args:
            needed: Whether any connection uses TLS. Reading the certificates takes longer than many a request; without
                them a TLS connection is refused, not trusted.

        Raises:
            ValueError: A file holds no certificate or key that can be read.
        """
        if not needed:
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            context = self._trusted()
            if self.client_cert is not None:
                context.load_cert_chain(*self._client_cert_paths())
        except OSError as error:  # ssl.SSLError is one
            raise ValueError(
                f"The certificates (ca_bundle={self.ca_bundle!r}, client_cert={self.client_cert!r}) cannot be used: {error}."
            ) from error
        return context

    def settings(self) -> dict[str, object]:
        """Return the arguments of an httpx client, but for the certificates."""
        proxy = {"proxy": self.http_proxy} if self.http_proxy is not None else {}
        return {"trust_env": not self.is_local, **proxy}

    def _trusted(self) -> ssl.SSLContext:
        if self.ca_bundle is not None:
            where = {"capath" if os.path.isdir(self.ca_bundle) else "cafile": self.ca_bundle}
            return ssl.create_default_context(**where)  # type: ignore[arg-type]
        return httpx.create_ssl_context(verify=self.verify)

    def _client_cert_paths(self) -> list[str]:
        return [path.strip() for path in self.client_cert.split(",")] if self.client_cert else []


def _check_proxy(url: str) -> None:
    shown = url.rpartition("@")[2]
    try:
        httpx.Proxy(url)
    except (ValueError, httpx.InvalidURL) as error:
        reason = str(error).replace(url, shown)
        raise ValueError(f"The http_proxy {shown!r} cannot be used: {reason}.") from None
    if url.startswith("socks") and find_spec("socksio") is None:
        raise ValueError(
            f"The http_proxy {shown!r} needs the package socksio: pip install 'httpx[socks]'."
        )
