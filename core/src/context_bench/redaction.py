"""Redaction: secrets are removed from every text before it is stored or shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from context_bench.errors import BadValueError

if TYPE_CHECKING:
    from context_bench.plugins.component import Component

REDACTED = "***"

_SHORTEST = 4
_NAME = r"(?i)auth|key|token|secret|passw|credential|cookie|session|signature|^sig$|^code$"
_SECRET_WORDS = "pass(?:word|wd|phrase)|pwd|secret|credential|cookie|bearer|authorization"
_SECRET_NAME = re.compile(
    rf"(?:^|_)(?:(?:api)?key|token|auth|pat|(?:{_SECRET_WORDS})s?)_?\d*$|(?:^|_)(?:secret|password|credential)s?_"
    r"|^(?:(?:extra|request|http|custom|default|proxy|auth|authorization)_)?headers?$|(?:^|_)(?:passcode|jwt)s?$"
    r"|(?:^|_)(?:api|access|secret|private|signing)_?keys?(?:$|_pem$)|(?:^|_)(?:api|access|auth|bearer|refresh)_tokens$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# compiled where it is used: a list of plugins never does
_HEADER = r"\s*(?P<name>[A-Za-z0-9-]+)\s*:\s*(?P<value>\S.*)"
_HARMLESS_HEADER = (
    r"(?i)accept(-(charset|encoding|language))?|content-(type|encoding|language)|user-agent"
    r"|([a-z0-9]+-)*(version|beta)"
)
_HARMLESS_VALUE = r"[\w .,;=+*/()-]*"
_SHORTEST_OF_ENVIRONMENT = 8


@lru_cache(maxsize=1024)
def is_secret_name(name: str) -> bool:
    """Whether an option is called what only secrets are called; such an option is secret unless its
    manifest denies it.

    >>> [is_secret_name(name) for name in ("api_key", "hf-token", "dbPassword2", "extra_headers")]
    [True, True, True, True]
    >>> [is_secret_name(name) for name in ("max_tokens", "keyword")]
    [False, False]
    """
    return bool(_SECRET_NAME.search(_CAMEL.sub("_", name).replace("-", "_")))


def is_harmless_header(name: str) -> bool:
    """Whether the values of a request header hold no secret; those of every other one do until
    somebody says otherwise.

    >>> [is_harmless_header(name) for name in ("Content-Type", "tools-beta", "X-Team", "Cookie")]
    [True, True, False, False]
    """
    return bool(re.fullmatch(_HARMLESS_HEADER, name))


class Redactor:
    """Replaces secrets by ``***``: as they are, percent-encoded, in base64, in hexadecimal, and
    written backwards.

    A secret that is cut into pieces, encrypted, or written in any other way is not found.

    Servers like to repeat the key that they refuse, so errors, headers and their like lose every
    secret of four characters or more. What a system answered is the thing that is measured, so it
    loses only secrets that nobody writes by chance: of 16 characters, or of eight with a letter and
    a digit. A key such as ``EMPTY`` is an ordinary word there.

    >>> redactor = Redactor(["sk-secret-123", "EMPTY"])
    >>> redactor.of("Incorrect key: sk-secret-123 or EMPTY")
    'Incorrect key: *** or ***'
    >>> redactor.of_answer({"response": "The cup is EMPTY, sk-secret-123."})
    {'response': 'The cup is EMPTY, ***.'}

    Args:
        secrets: The secrets.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {secret for secret in secrets if len(secret) >= _SHORTEST}
        self._all = _by_length(known)
        self._plain = _by_length(filter(_is_unmistakable, known))
        import json

        self._marks = [json.dumps(form, ensure_ascii=False)[1:-1] for form in self._plain]

    def __bool__(self) -> bool:
        return bool(self._all)

    def of(self, text: str) -> str:
        """Return a text without any secret."""
        return _without(text, self._all)

    def of_all(self, value: Any) -> Any:
        """Return JSON-like values without any secret in their texts."""
        return _deep(value, self._all) if self._all else value

    def of_answer(self, value: Any) -> Any:
        """Return JSON-like values without the secrets that nobody writes by chance."""
        return _deep(value, self._plain) if self._plain else value

    def contains_secret(self, text: str) -> bool:
        """Whether a JSON text holds a secret that nobody writes by chance; asked for every row, so
        it must be quick."""
        return any(mark in text for mark in self._marks)


def secrets_in(value: Any) -> Iterator[str]:
    """Yield the secrets in the value of an option that is secret as a whole: itself, the credential
    in a header, and what any other header says, if nobody writes that by chance.

    >>> list(secrets_in(["X-Api-Key: abc123", "X-Team: research", "X-Org: org-4711"]))
    ['X-Api-Key: abc123', 'abc123', 'X-Team: research', 'X-Org: org-4711', 'org-4711']
    >>> list(secrets_in(["Content-Type: application/json"]))
    []
    """
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from secrets_in(f"{name}: {item}" if isinstance(item, str) else item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from secrets_in(item)
    elif isinstance(value, str) and value.strip() and not _are_harmless_headers(value):
        yield value.strip()
        header = re.fullmatch(_HEADER, value)
        if header and re.search(_NAME, header["name"]):
            yield header["value"].strip()
            yield from header["value"].split()[1:]  # "Bearer TOKEN"
        elif header and _is_unmistakable(header["value"].strip()):
            yield header["value"].strip()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def secrets_of_url(text: str) -> Iterator[str]:
    """Yield the user, the password, and what stands in the query, or beside it, under a name that
    calls it secret.

    >>> list(secrets_of_url("http://me:pass-word@host/v1?api-key=abc&page=2"))
    ['me:pass-word', 'pass-word', 'abc']
    """
    from urllib.parse import unquote, unquote_plus, urlsplit

    try:
        parts = urlsplit(text)
    except ValueError:
        return
    user, has_user, _ = parts.netloc.rpartition("@")
    if has_user:
        name, colon, password = user.partition(":")
        yield unquote(user if colon else f"{user}:")  # what Basic authorization is made of
        yield unquote(password or name)
        if _is_unmistakable(unquote(name)):  # some services take a key as the user
            yield unquote(name)
    for pair in re.finditer(_PAIR, text):
        if re.search(_NAME, pair[2]):
            yield unquote_plus(pair[3])


def redacted_url(text: str) -> str:
    """Return a text without what :func:`secrets_of_url` finds in the addresses that stand in it.

    >>> redacted_url("http://me:pass-word@host/v1?sig=abc&page=2#access_token=def")
    'http://***@host/v1?sig=***&page=2#access_token=***'
    """
    return re.sub(
        _PAIR,
        lambda pair: f"{pair[1]}{pair[2]}={REDACTED}" if re.search(_NAME, pair[2]) else pair[0],
        re.sub(_USER, f"{REDACTED}@", text),
    )


_USER = r"(?<=//)[^/?#\s]*@"
_PAIR = r"([?&#;])([^=&#;\s]+)=([^&#;\s]+)"
_ADDRESS = r"\S+://\S+|[^\s/@:]+:[^\s/@]+@\S+"


def without_secrets(components: Iterable[Component], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of a component without those that its manifest calls secret, without what a
    URL says of its user, and without secrets that stand in the environment.

    Args:
        components: All that answer to its name; an option is secret where one of them says so.
        options: Its options.
    """
    declared = _declared(components)
    return {
        name: _hidden(value) if _is_secret(name, declared) else _shown_option(name, value)
        for name, value in options.items()
    }


def _shown_option(name: str, value: Any) -> Any:
    shown = _plain(value)
    secrets = _by_length(_secrets_of_body(value)) if _is_body(name) else []
    return _deep(shown, secrets) if secrets else shown


def _is_body(name: object) -> bool:
    """Whether an option is further fields of a request, in which anything may stand."""
    return str(name).replace("-", "_").endswith("extra_body")


def _secrets_of_body(value: Any, name: str = "") -> Iterator[str]:
    """Yield the texts among further fields of a request that nobody writes by chance, except in
    fields that name a model or a version: they are secret, though the field's name does not say so.
    """
    fields = _fields_of(value)
    if fields is not None:
        value = fields
    if isinstance(value, Mapping):
        for inner, one in value.items():
            yield from _secrets_of_body(one, str(inner))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _secrets_of_body(one, name)
    elif isinstance(value, str):
        is_name = re.search(_NAMES_OF_MODELS, name) is not None
        if not is_name and " " not in value and _is_unmistakable(value):
            yield value


_NAMES_OF_MODELS = r"(?i)model|version|format|tier|engine|tokenizer|grammar|regex|pattern"


def _hidden(value: Any) -> Any:
    """Return the part of a secret option that is stored: nothing, except harmless headers."""
    return _plain(value) if value and _are_harmless_headers(value) else REDACTED


def _are_harmless_headers(value: Any) -> bool:
    """Whether a value is request headers, as lines or by name, that all hold no secret."""
    if isinstance(value, Mapping):
        value = [f"{name}: {item}" for name, item in value.items()]
    if isinstance(value, list | tuple):
        return all(isinstance(item, str) and _are_harmless_headers(item) for item in value)
    header = re.fullmatch(_HEADER, value) if isinstance(value, str) else None
    if header is None or not is_harmless_header(header["name"]):
        return False
    return re.fullmatch(_HARMLESS_VALUE, header["value"]) is not None


_FOLDERS_OF_SHELLS = ("PWD", "OLDPWD")
"""Where a shell is and was: no passwords, though ``pwd`` often is one in other names."""


def _of_environment(text: str) -> list[str]:
    """Return the secrets in a text that environment variables hold under a name that calls them
    so, and that nobody writes by chance."""
    from os import environ

    return [
        value
        for name, value in environ.items()
        if name not in _FOLDERS_OF_SHELLS
        and len(value) >= _SHORTEST_OF_ENVIRONMENT
        and value in text
        and is_secret_name(name)
        and _is_unmistakable(value)
    ]


def secret_values(components: Iterable[Component], options: Mapping[str, Any]) -> Iterator[str]:
    """Yield the secrets among the options of a component; see :func:`without_secrets`."""
    components = list(components)
    declared = _declared(components)
    lists = {
        name
        for component in components
        for name, option in component.manifest.options.items()
        if option.type == "list"
    }
    for name, value in options.items():
        if isinstance(value, str) and str(name).replace("-", "_") in lists:
            value = [value, *value.split("/")]  # as it is written on the command line
        if _is_secret(name, declared):
            yield from secrets_in(value)
        yield from _secrets_inside(value)  # the password in a secret address, too
        if _is_body(name):
            yield from _secrets_of_body(value)


def bad_value(name: str, wanted: str, value: object) -> BadValueError:
    """Return the error of a parameter that does not accept a value; its message has no secret."""
    return BadValueError(name, wanted, value, shown_value(name, value))


def shown_value(name: str, value: object) -> str:
    """Return a value as a message shows it: without secrets.

    >>> shown_value("systems.proxy.api_key", ["sk-1"]), shown_value("run.limit", "x")
    ('***', "'x'")
    """
    last = re.split(r"[.\s]", name.strip())[-1].lstrip("-")
    if is_secret_name(last):
        return REDACTED
    shown = without_secrets((), {"value": value})["value"]
    return repr(shown if is_redacted(shown) else value)


def is_redacted(value: Any) -> bool:
    """Whether a secret was removed from a value."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return any(map(is_redacted, value))
    return isinstance(value, str) and REDACTED in value


def _secrets_inside(value: Any) -> Iterator[str]:
    """Yield the secrets inside of a value: in an address, or in undeclared options."""
    if isinstance(value, str):
        yield from _of_environment(value)
    fields = _fields_of(value)
    if fields is not None:
        yield from secret_values((), fields)
    elif isinstance(value, str) and re.fullmatch(_ADDRESS, value):
        yield from secrets_of_url(value if "://" in value else f"//{value}")
    elif isinstance(value, Mapping):
        yield from secret_values((), value)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _secrets_inside(inner)


def _fields_of(value: Any) -> Mapping[str, Any] | None:
    """Return the fields of a JSON object in a text, such as further request fields; None for any
    other value."""
    if not (isinstance(value, str) and value.lstrip()[:1] == "{"):
        return None
    import json

    try:
        fields = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _plain(value: Any) -> Any:
    fields = _fields_of(value)
    if fields is not None:
        redacted = without_secrets((), fields)
        if redacted == fields:
            return value
        import json

        return json.dumps(redacted, ensure_ascii=False)
    if isinstance(value, str):
        shown = redacted_url(value) if "://" in value or "@" in value else value
        return _without(shown, _of_environment(shown))
    if isinstance(value, Mapping):
        return without_secrets((), value)
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _declared(components: Iterable[Component]) -> dict[str, bool]:
    """Return whether each option that one of these components declares is secret."""
    declared: dict[str, bool] = {}
    for component in components:
        for name, option in component.manifest.options.items():
            declared[name] = option.secret or declared.get(name, False)
    return declared


def _is_secret(key: Any, declared: Mapping[str, bool]) -> bool:
    """Whether an option holds a secret; one that its component does not declare is judged by its
    name."""
    name = str(key).replace("-", "_")
    return declared[name] if name in declared else is_secret_name(name)


def _is_unmistakable(secret: str) -> bool:
    mixed = any(map(str.isdigit, secret)) and any(map(str.isalpha, secret))
    return len(secret) >= 16 or (len(secret) >= 8 and mixed)


_URL_SAFE = str.maketrans("+/", "-_")


def _forms(secret: str) -> Iterator[str]:
    from base64 import b64encode
    from urllib.parse import quote, quote_plus

    raw = secret.encode("utf-8", "surrogatepass")
    yield secret
    encoded = b64encode(raw).decode("ascii")
    yield from (
        encoded,
        encoded.rstrip("="),
        encoded.translate(_URL_SAFE),
        raw.hex(),
        raw.hex().upper(),
        secret[::-1],
    )
    yield quote(raw, safe="")
    yield quote_plus(raw)


def _by_length(secrets: Iterable[str]) -> list[str]:
    forms = {form for secret in secrets for form in _forms(secret) if len(form) >= _SHORTEST}
    return sorted(forms, key=lambda form: (-len(form), form))


def _without(text: str, forms: Iterable[str]) -> str:
    for form in forms:
        if form in text:
            text = text.replace(form, REDACTED)
    return text


def _deep(value: Any, forms: list[str]) -> Any:
    if isinstance(value, str):
        return _without(value, forms)
    if isinstance(value, Mapping):
        return {_deep(key, forms): _deep(item, forms) for key, item in value.items()}
    return [_deep(item, forms) for item in value] if isinstance(value, list | tuple) else value
