"""Addresses of servers: checked before use, shown without secrets."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from graph_agent.errors import ConfigurationError

SCHEMES = {"falkor": "redis", "falkors": "rediss", "redis": "redis", "rediss": "rediss", "unix": "unix"}


def shown_url(url: str) -> str:
    """The address without user, password and query: fit for messages and logs."""
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return f"unix://{Path(parts.path)}"
    host = parts.hostname or ""
    return urlunsplit((parts.scheme, f"{host}:{parts.port or 6379}", "", "", ""))


def checked_url(url: str) -> str:
    """The address with a scheme that the Redis client knows.

    Raises:
        ConfigurationError: it is none; the text does not repeat it, for it may hold a password.
    """
    scheme, separator, rest = url.strip().partition("://")
    try:
        known = SCHEMES.get(scheme.lower()) if separator else None
        if known is None or (known != "unix" and not urlsplit(f"{known}://{rest}").hostname):
            raise ValueError
        if known != "unix":
            _ = urlsplit(f"{known}://{rest}").port
    except ValueError:
        raise ConfigurationError(
            "GRAPH_AGENT_FALKORDB_URL is not an address of a FalkorDB server.",
            "Write falkor://[user:password@]host:6379, falkors:// for TLS, or unix:///path/to/socket.",
        ) from None
    return f"{known}://{rest}"
