"""Redaction takes the same secrets out of a text, of JSON in a text and of a table, and JSON stays JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench_sessions import Redactor

# put together here, so that no scanner of this repository takes them for real ones
SECRETS = {
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "aws, temporary": "ASIA" + "IOSFODNN7EXAMPLE",
    "github": "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789",
    "npm": "npm_" + "abcdefghijklmnopqrstuvwxyz0123456789",
    "slack": "xoxb-" + "123456789012-abcdefghijkl",
    "slack, app": "xapp-" + "1-A012-345-abcdef0123456789",
    "jwt": "eyJhbGciOiJI" + ".eyJzdWIiOiIx.SflKxwRJSMeKKF2QT4",
    "pem": "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    "pem, cut short": "-----BEGIN " + "PRIVATE KEY-----\nMIIEow",
    "pgp": "-----BEGIN PGP "
    + "PRIVATE KEY BLOCK-----\n\nlQOY\n-----END PGP PRIVATE KEY BLOCK-----",
    "e-mail": "bob@example.com",
    "e-mail of a name with an umlaut": "j\u00fcrgen@example.com",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("before", ["", "a\n", "a\t", '"', "'", "\u00e9\n", "C:\\\n"])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_secret_is_taken_out_of_texts_and_of_json_in_texts(
    secret: str, before: str, depth: int
) -> None:
    text = before + secret
    for _ in range(depth):
        text = json.dumps({"count": 1, "content": text, "last": "kept"})
    redactor = Redactor()
    found = redactor.text(text)
    assert secret not in found
    assert sum(redactor.counts.values()) == 1
    for _ in range(depth):
        document = json.loads(found)
        assert (document["count"], document["last"]) == (1, "kept")
        found = document["content"]
    assert found.startswith(before)
    assert secret.split("\n")[-1] not in found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("https://bob:pa55@host/x", "https://bob:[password-1]@host/x"),
        ("redis://:pa55@host", "redis://:[password-1]@host"),
        (
            '{"url":"http://h:8080","to":"me@x.com"}',
            '{"url":"http://h:8080","to":"[e-mail-address-1]"}',
        ),
        ("Authorization: Basic Ym9iOnBh", "Authorization: Basic [token-1]"),
        (
            "https://hooks.slack.com/services/T0/B0/xyz",
            "https://hooks.slack.com/services/[token-1]",
        ),
        (r"C:\Users\Bob M\u00fcller\x".replace(r"\u00fc", "\u00fc"), r"C:\Users\[home-folder-1]\x"),
        (r"C:\\Users\\Bob\\x", r"C:\\Users\\[home-folder-1]\\x"),
        ("/home/j\u00fcrgen/x", "/home/[home-folder-1]/x"),
        (
            "/home/bob/.claude/projects/-home-bob-work/1",
            "/home/[home-folder-1]/.claude/projects/-home-[home-folder-1]-work/1",
        ),
        ("input_tokens: 123456789", "input_tokens: 123456789"),
        ("@app.route and a@b", "@app.route and a@b"),
    ],
)
def test_what_is_around_a_secret_stays(text: str, found: str) -> None:
    assert Redactor().text(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("export DB_PASSWORD=hunter2", "export DB_PASSWORD=[secret-1]"),
        ("DB_PASSWORD=admin make", "DB_PASSWORD=[secret-1] make"),
        ("mysql --password=root -h db", "mysql --password=[secret-1] -h db"),
        ("password: s3cr3t", "password: [secret-1]"),
        ("password: 4711", "password: [secret-1]"),
        ("connect(password='open')", "connect(password='[secret-1]')"),
        (r"{\"api_key\": \"abcd\"}", r"{\"api_key\": \"[secret-1]\"}"),
        ("http://host/v1?api_key=abc1&page=2", "http://host/v1?api_key=[secret-1]&page=2"),
        ("curl -H 'X-Api-Key: k3y9'", "curl -H 'X-Api-Key: [secret-1]'"),
        ("Authorization: abc123", "Authorization: [secret-1]"),
        ("token = 'abcd'", "token = '[secret-1]'"),
    ],
)
def test_a_short_secret_is_taken_out_where_its_name_and_the_end_of_the_word_show_it(
    text: str, found: str
) -> None:
    assert Redactor().text(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "def f(token: str, password: bytes = None, secret=None):",
        "connect(token=token, password=passwd)",
        "token = next(lines)",
        "secret = keys[0]",
        "max_token: 4096, token_count=1234, tokens: 512",
        "tokenizer: gpt2, tokenizer=bpe",
        "The password: please ask. Secret: Garden.",
        "Authorization: Bearer",
        "password=abc",
    ],
)
def test_what_no_secret_is_stays(text: str) -> None:
    assert Redactor().text(text) == text


@pytest.mark.parametrize("value", ["hunter2", "my pass word", 'a"b\\c', "[x]y", "line\nline"])
def test_a_field_that_is_called_secret_goes_whole_in_a_table_and_in_json(value: str) -> None:
    table = {
        "user": "bob",
        "password": value,
        "tokens": 12345678,
        "bob@example.com": [{"api-key": value}],
    }
    redacted = Redactor().value(table)
    assert redacted == {
        "user": "bob",
        "password": "[secret-1]",
        "tokens": 12345678,
        "[e-mail-address-2]": [{"api-key": "[secret-1]"}],
    }
    assert json.loads(Redactor().text(json.dumps(table))) == redacted


TABLES = st.recursive(
    st.none()
    | st.integers()
    | st.text(alphabet='ab@.:/\\"n\n{}[]\u00e9 ', max_size=20)
    | st.sampled_from(list(SECRETS.values())),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "token", "url"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.lists(TABLES, max_size=4), st.booleans(), st.sampled_from([(",", ":"), (", ", ": ")]))
def test_json_is_redacted_as_what_it_says(
    table: list[Any], is_ascii: bool, separators: tuple[str, str]
) -> None:
    text = json.dumps(table, ensure_ascii=is_ascii, separators=separators)
    assert json.loads(Redactor().text(text)) == Redactor().value(table)


def test_json_without_a_secret_stays_byte_for_byte() -> None:
    text = '{ "a" :"\\u00e9\\/", "b":[1.0,  2e5]}\n'
    assert Redactor().text(text) == text


def test_the_report_says_what_it_counts() -> None:
    redactor = Redactor()
    redactor.text("bob@example.com, bob@example.com and eve@example.com")
    assert (
        redactor.report()
        == "Redacted: 2 x e-mail address (different ones; each was taken out wherever it stood)."
    )
    assert Redactor().report() == "Redacted: nothing was found."


@pytest.mark.parametrize("unit", ["a-b", "token", "secret-", "password1", "api_key_", "a@b."])
def test_a_line_that_is_one_long_name_is_read_in_one_pass(unit: str) -> None:
    """Where a name was looked through again from each of its words, these took minutes."""
    text = unit * (100_000 // len(unit))
    assert Redactor().text(text) == text
