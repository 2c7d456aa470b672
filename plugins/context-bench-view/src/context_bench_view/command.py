"""``context-bench view``: serve a folder of runs to the browser of this machine."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

import click

from context_bench.console import echo, echo_err
from context_bench.errors import ConfigurationError


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path("runs"))
@click.option("--port", type=int, default=0, help="Port to listen on.  [default: a free one]")
def view(folder: Path, port: int) -> None:
    """Look at the runs of a folder (`runs`) in a browser, also while they go on.

    The server listens on 127.0.0.1. The address that is printed holds a random token; without it nothing is answered.
    """
    import uvicorn

    from context_bench_view.server import application

    if not folder.is_dir():
        raise ConfigurationError(
            f"There is no folder {folder} with runs in it. Name one: context-bench view FOLDER."
        )
    token = secrets.token_urlsafe(24)
    with listening(port) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        echo(f"http://{address}/{token}/")
        echo_err("Stop with Ctrl-C. Whoever has this address can read the runs; no other page can.")
        app = application(folder, token, address)
        uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(
            sockets=[listener]
        )


def listening(port: int) -> socket.socket:
    """Return a socket that listens on this machine only.

    Raises:
        ConfigurationError: The port cannot be had.
    """
    listener = socket.socket()
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        raise ConfigurationError(
            f"Port {port} cannot be listened on: {error}. Name another with --port."
        ) from error
    return listener
