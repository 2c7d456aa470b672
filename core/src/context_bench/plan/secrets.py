"""The secrets of a run: where they are known from, and errors without them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import environ
from typing import TYPE_CHECKING

from context_bench.errors import ContextBenchError, message_of
from context_bench.plan.specs import specs_in
from context_bench.redaction import Redactor, secret_values, secrets_in

if TYPE_CHECKING:
    from context_bench.plan.run_config import RunConfig
    from context_bench.plugins.catalog import Catalog


def redactor_of(catalog: Catalog, request: RunConfig) -> Redactor:
    """Return what takes the secrets of a run out of texts.

    Known are the values of options that a manifest calls secret, the environment variables that
    such options name, and the credentials in addresses. What an object keeps to itself is known to
    nobody else.
    """
    asked = [*request.systems, request.reader, *request.datasets]
    given = [(spec.group, spec.name, spec.options) for one in asked for spec in specs_in(one)]
    given += [("evaluators", name, options) for name, options in request.options.items()]
    given += [("hooks", name, options) for name, options in request.extension_options.items()]
    found = [
        secret
        for kind, name, options in given
        for secret in secret_values(catalog.named(kind, name), options)
    ]
    for component in catalog:
        for option in component.manifest.options.values():
            if option.secret and option.env:
                found += secrets_in(environ.get(option.env))
    return Redactor(found)


@contextmanager
def redact_errors(catalog: Catalog, request: RunConfig) -> Iterator[None]:
    """Take the secrets of a run out of what goes wrong meanwhile, as somebody else's code may
    repeat its own."""
    try:
        yield
    except ContextBenchError as error:
        error.args = (redactor_of(catalog, request).of(message_of(error)),)
        raise
