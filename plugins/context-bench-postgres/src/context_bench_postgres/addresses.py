"""The address of a database, with and without what nobody may see."""

from __future__ import annotations

import re
from hashlib import sha256
from urllib.parse import parse_qsl, urlencode

from attrs import field, frozen

from context_bench.errors import ConfigurationError

_PARTS = re.compile(
    r"postgresql://(?:(?P<login>.*)@)?(?P<place>[^/?@]*)(?P<database>/[^?@]*)?(?:\?(?P<options>[^@]*))?",
    re.DOTALL,
)
_SHOWN = ("service", "host", "hostaddr", "port", "dbname", "sslmode", "target_session_attrs")
"""Options that say where the database is; all others stay hidden."""


@frozen
class Address:
    """The address of a database.

    Attributes:
        shown: What is shown and stored: where the database is, without user and password.
        connection: What libpq connects with.
    """

    shown: str
    connection: str = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> Address:
        """Return the address that a user wrote.

        Raises:
            ConfigurationError: It is none; the message does not repeat it.
        """
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict

        parts = _PARTS.fullmatch(text)
        is_one = parts is not None and not re.search(r"[/?#@\s]", parts["login"] or "")
        if is_one:
            try:
                conninfo_to_dict(text)
            except ProgrammingError:
                is_one = False
        if parts is None or not is_one:
            raise ConfigurationError(
                "This is no address of a PostgreSQL database. Write "
                "postgresql://USER@HOST:PORT/DATABASE, with other letters in a name or password "
                "percent-encoded (@ is %40, / is %2F, # is %23)."
            )
        options = [pair for pair in parse_qsl(parts["options"] or "") if pair[0] in _SHOWN]
        query = f"?{urlencode(options, safe='/:')}" if options else ""
        return cls(f"postgresql://{parts['place']}{parts['database'] or ''}{query}", text)

    @property
    def identity(self) -> str:
        """A name for a folder of what belongs to this database."""
        return f"postgresql-{sha256(self.shown.encode()).hexdigest()[:16]}"
