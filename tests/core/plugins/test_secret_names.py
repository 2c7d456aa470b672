"""An option that is called as only secrets are is secret, whatever its package forgot to say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench.redaction import is_secret_name

Run = Callable[..., Any]
CANARY = "canary-4b1d77-secret"
FORMS = [CANARY, CANARY.encode().hex(), CANARY[::-1]]
CODE = """
    class Endpoint:
        def __init__(self, {name}=None):
            self.name = "leaky"
            self.secret = {name} if isinstance({name}, str) else str(({name} or [""])[0])

        def process(self, example):
            word = self.secret
            if example["id"] == "1":
                raise RuntimeError(f"refused: {{word}} {{word.encode().hex()}} {{word[::-1]}}")
            return {{"response": f"echo {{word}} {{word.encode().hex()}} {{word[::-1]}}"}}
"""
MANIFEST = """
    schema = 1
    api = "1.0"
    [systems.leaky]
    summary = "Says its key"
    class = "Endpoint"
    options.{name} = {{ {denial} type = "{type}", help = "x" }}
"""
NAMES = {"api_key": "str", "apiKey": "str", "session_cookie": "str", "extra_headers": "list"}


SECRET = """
    key access_token token client_secret db_password passphrase authorization credentials
    secret_name headers auth_header api_keys
""".split()  # noqa: SIM905


def install(site: Any, name: str, option_type: str, denial: str = "") -> None:
    site.basics()
    site.add(
        "acme-leaky",
        code=CODE.format(name=name),
        manifest=MANIFEST.format(name=name, type=option_type, denial=denial),
        entry_points={"systems": {"leaky": "acme_leaky:Endpoint"}},
    )


@pytest.mark.parametrize(("name", "option_type"), NAMES.items(), ids=NAMES.keys())
def test_its_value_is_nowhere(
    name: str, option_type: str, site: Any, context_bench: Run, workplace: Path
) -> None:
    install(site, name, option_type)
    value = CANARY if option_type == "str" else f"X-Api-Key: {CANARY}"
    flags = [
        "-s",
        f"leaky:{name}={value}",
        "-d",
        "toy",
        "--run-file",
        "r.sqlite",
        "-o",
        "out.json",
        "--max-failed",
        "100%",
    ]
    done = context_bench("run", *flags)
    assert done.code == 0, done.err
    told = [done.out, done.err]
    for command in (
        ("export", "r.sqlite"),
        ("report", "r.sqlite"),
        ("run", *flags[:4], "--dry-run"),
    ):
        other = context_bench(*command)
        told += [other.out, other.err]
    assert not [text for text in told for form in FORMS if form in text]
    kept = [path for path in workplace.rglob("*") if path.is_file()]
    assert kept
    assert not [path.name for path in kept for form in FORMS if form.encode() in path.read_bytes()]
    assert "***" in json.dumps(json.loads((workplace / "out.json").read_text("utf-8"))["rows"])


@pytest.mark.parametrize("name", SECRET)
def test_a_name_of_a_secret_is_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["max_tokens", "tokenizer", "keyword", "path", "monkey", "pattern", "failure_headers"]
)
def test_a_name_that_only_sounds_like_a_secret_is_not_one(name: str) -> None:
    assert not is_secret_name(name)


def test_who_denies_it_is_faulted_by_the_check_and_believed_by_a_run(
    site: Any, context_bench: Run
) -> None:
    pytest.importorskip("context_bench_kit", reason="`plugins check` comes with it")
    install(site, "api_key", "str", "secret = false,")
    [told] = json.loads(context_bench("plugins", "show", "leaky", "--json").out)
    assert told["options"]["api_key"]["secret"] is False
    done = context_bench("plugins", "check", "acme-leaky", "--no-load")
    assert done.code == 2
    assert "systems.leaky.options.api_key.secret" in done.words


def test_preflight_shows_it_no_more_than_a_run(site: Any, context_bench: Run) -> None:
    pytest.importorskip("context_bench_preflight", reason="`preflight` comes with it")
    install(site, "api_key", "str")
    told = []
    for more in ((), ("--json",)):
        done = context_bench("preflight", "-s", f"leaky:api_key={CANARY}", "-d", "toy", *more)
        assert "leaky" in done.out
        told += [done.out, done.err]
    assert not [text for text in told for form in FORMS if form in text]


@pytest.mark.parametrize(
    "address", ["http://me:{}@host/v1", "http://host/v1?sig={}", "http://host/v1#access_token={}"]
)
def test_what_an_address_says_secretly_is_neither_kept_nor_told(
    site: Any, context_bench: Run, workplace: Path, address: str
) -> None:
    """The one rule of names holds for what is taken out of texts and for what is taken out of the stored request."""
    install(site, "place", "str")
    done = context_bench(
        *(
            "run",
            "-s",
            f"leaky:place={address.format(CANARY)}",
            "-d",
            "toy",
            "-q",
            "--run-file",
            "r.sqlite",
        ),
        *("--max-failed", "100%", "-o", "out.json"),
    )
    kept = b"".join(path.read_bytes() for path in workplace.iterdir())
    assert CANARY.encode() not in kept
    assert CANARY not in done.out + done.err
    assert b"***" in kept
