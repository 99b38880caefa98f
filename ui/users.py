"""Who may log in: a file of names and scrypt hashes, made by `graph-agent user add`.

The file is JSON, readable by its owner only, and replaced as a whole, so that a reader never sees half of it.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import hashlib
import hmac
import json
import os
import re
import secrets
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from graph_agent.errors import BadArgument, ConfigurationError, NotFound

MIN_PASSWORD = 8
MAX_PASSWORD = 1_000  # characters; a hash of megabytes would be a way to keep the server busy
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_FORMAT = 1
# About 0.1 s and 32 MiB for each try (RFC 7914; OWASP's password storage advice of 2023 for scrypt).
_COST, _BLOCK, _PARALLEL = 2**15, 8, 1
_MEMORY = 64 * 1024 * 1024
_ADD = "Add one with: graph-agent user add NAME"


@dataclass(frozen=True, slots=True)
class User:
    """One line of the file; the hash is not shown."""

    name: str
    created: str


def default_users_file(data: Path) -> Path:
    """Where `graph-agent user add` writes when no file is named."""
    return data / "users.json"


def add_user(path: Path, name: str, password: str) -> bool:
    """Add a user, or give a known one a new password.

    Returns:
        Whether the user is new.

    Raises:
        BadArgument: a name or password that is not usable; says what is.
        ConfigurationError: the file cannot be read or written.
    """
    if not _NAME.fullmatch(name):
        raise BadArgument(
            f"The user name {name!r} is not usable.",
            "Use 1 to 64 letters, digits, dots, dashes, underscores or @, beginning with a letter or digit.",
        )
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        raise BadArgument(
            f"The password has {len(password)} characters.",
            f"Use {MIN_PASSWORD} to {MAX_PASSWORD} characters.",
        )
    users = _read(path) if path.exists() else {}
    known = users.get(name)
    created = known["created"] if known else datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    users[name] = {"hash": hash_password(password), "created": created}
    _write(path, users)
    return known is None


def remove_user(path: Path, name: str) -> None:
    """Take a user's login away; the conversations stay.

    Raises:
        NotFound: there is no such user; lists those there are.
        ConfigurationError: the file cannot be read or written.
    """
    users = _read(path)
    if users.pop(name, None) is None:
        raise NotFound(
            f"There is no user {name!r} in {path}.", f"Users: {', '.join(sorted(users)) or 'none'}."
        )
    _write(path, users)


def list_users(path: Path) -> list[User]:
    """Everybody in the file, by name.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    return [User(name, entry["created"]) for name, entry in sorted(_read(path).items())]


def hash_password(password: str) -> str:
    """`scrypt$cost$block$parallel$salt$hash`, salt and hash in base 64."""
    salt = secrets.token_bytes(16)
    digest = _scrypt(password, salt, _COST, _BLOCK, _PARALLEL)
    return f"scrypt${_COST}${_BLOCK}${_PARALLEL}${_base64(salt)}${_base64(digest)}"


def check_password(password: str, hashed: str) -> bool:
    """Whether the password is the one that was hashed; takes the same time either way."""
    try:
        kind, cost, block, parallel, salt, digest = hashed.split("$")
        if kind != "scrypt" or len(password) > MAX_PASSWORD:
            return False
        found = _scrypt(password, base64.b64decode(salt), int(cost), int(block), int(parallel))
        return hmac.compare_digest(found, base64.b64decode(digest))
    except ValueError:
        return False


class Users:
    """The users file of a running server; changes to it are noticed at the next request.

    Raises:
        ConfigurationError: the file is not there, is damaged, or names nobody.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._users: dict[str, dict[str, str]] = {}
        # Checked when the name is unknown, so that the answer takes as long as for a known one.
        self._nobody = hash_password(secrets.token_urlsafe(12))
        if not self._current():
            raise ConfigurationError(f"The users file {path} names nobody.", _ADD)

    def check(self, name: str, password: str) -> str | None:
        """The user's hash when name and password fit; about 0.1 s of work, so call it in a thread."""
        entry = self._current().get(name)
        fits = check_password(password, entry["hash"] if entry else self._nobody)
        return entry["hash"] if fits and entry is not None else None

    def hash_of(self, name: str) -> str | None:
        """The hash of a user's password now, None for a name that may not (or no longer) use the server."""
        entry = self._current().get(name)
        return entry["hash"] if entry else None

    def _current(self) -> dict[str, dict[str, str]]:
        with self._lock:
            try:
                status = self.path.stat()
            except OSError as error:
                if self._seen is None:
                    raise ConfigurationError(
                        f"The users file {self.path} cannot be read: {error.strerror or error}.", _ADD
                    ) from None
                return {}
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if stamp != self._seen:
                self._users = _read(self.path)
                self._seen = stamp
            return self._users


def _read(path: Path) -> dict[str, dict[str, str]]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        users = found["users"] if found.get("format") == _FORMAT else None
        if not isinstance(users, dict) or not all(
            isinstance(entry.get("hash"), str) and isinstance(entry.get("created"), str)
            for entry in users.values()
        ):
            raise ValueError
    except OSError as error:
        raise ConfigurationError(
            f"The users file {path} cannot be read: {error.strerror or error}.", _ADD
        ) from None
    except (ValueError, AttributeError, TypeError, KeyError):
        raise ConfigurationError(
            f"{path} is not a users file.", "Name the file that `graph-agent user add` has written."
        ) from None
    return users


def _write(path: Path, users: dict[str, dict[str, str]]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".users-")  # readable by the owner only
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"format": _FORMAT, "users": users}, file, indent=1)
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise ConfigurationError(
            f"The users file {path} cannot be written: {error.strerror or error}.",
            "Name a file in a folder of yours.",
        ) from None


def _scrypt(password: str, salt: bytes, cost: int, block: int, parallel: int) -> bytes:
    return hashlib.scrypt(
        password.encode("utf-8", "surrogatepass"),
        salt=salt,
        n=cost,
        r=block,
        p=parallel,
        maxmem=_MEMORY,
        dklen=32,
    )


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
