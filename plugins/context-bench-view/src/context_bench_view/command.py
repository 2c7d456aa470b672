"""``context-bench view``: serve a folder of runs to the browser of this machine."""

from __future__ import annotations

import secrets
from pathlib import Path

import click

from context_bench.console import echo, echo_err
from context_bench.errors import ConfigurationError


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path("runs"))
@click.option("--port", type=int, default=0, help="Port to listen on.  [default: a free one]")
def view(folder: Path, port: int) -> None:
    """Look at the runs of a folder (`runs`) in a browser, also while they go on.

    The server listens on 127.0.0.1. The printed address contains a random token; the server refuses requests without it.
    """
    from context_bench_http.local_server import Guard, LocalServer
    from context_bench_view.server import Pages

    if not folder.is_dir():
        raise ConfigurationError(
            f"There is no folder {folder} with runs in it. Name one: context-bench view FOLDER."
        )
    token = secrets.token_urlsafe(24)
    pages = Pages(folder, token)
    try:
        server = LocalServer(
            pages.answer, port, Guard(secret=token, is_exact=True, methods=("GET", "HEAD", "POST"))
        )
    except (OSError, OverflowError) as error:
        raise ConfigurationError(
            f"Port {port} cannot be listened on: {error}. Name another with --port."
        ) from error
    echo(f"{server.url}/{token}/")
    echo_err("Stop with Ctrl-C. Whoever has this address can read the runs; no other page can.")
    try:
        server.wait()
    finally:
        server.close()
