"""The users file: names, hashes, changes while a server runs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml

from graph_agent.errors import BadArgument, ConfigurationError, NotFound
from graph_agent.ui.users import (
    Users,
    add_user,
    check_password,
    default_users_file,
    hash_password,
    list_users,
    remove_user,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "users.json"


def test_a_user_is_added_changed_and_removed(path: Path) -> None:
    assert add_user(path, "ada", "correct horse")
    assert not add_user(path, "ada", "battery staple")
    assert [user.name for user in list_users(path)] == ["ada"]
    users = Users(path)
    assert users.check("ada", "battery staple")
    assert not users.check("ada", "correct horse")
    assert not users.check("bo", "battery staple")
    remove_user(path, "ada")
    assert users.hash_of("ada") is None
    assert not users.check("ada", "battery staple")
    with pytest.raises(NotFound, match="'ada'"):
        remove_user(path, "ada")


def test_passwords_are_not_in_the_file_and_others_cannot_read_it(path: Path) -> None:
    add_user(path, "ada", "correct horse")
    add_user(path, "bo", "correct horse")
    text = path.read_text(encoding="utf-8")
    assert "correct" not in text
    hashes = [entry["hash"] for entry in json.loads(text)["users"].values()]
    assert hashes[0] != hashes[1]
    assert os.stat(path).st_mode & 0o077 == 0


def test_a_running_server_sees_a_new_user(path: Path) -> None:
    add_user(path, "ada", "correct horse")
    users = Users(path)
    assert users.hash_of("bo") is None
    add_user(path, "bo", "correct horse")
    assert users.check("bo", "correct horse")


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "../x", ".hidden", "-x", "a/b", "a\n", "ä", "x" * 65, "a\x00"]
)
def test_names_that_are_refused(path: Path, name: str) -> None:
    with pytest.raises(BadArgument, match="not usable"):
        add_user(path, name, "correct horse")
    assert not path.exists()


@pytest.mark.parametrize("password", ["", "short", "x" * 1_001])
def test_passwords_that_are_refused(path: Path, password: str) -> None:
    with pytest.raises(BadArgument, match="characters"):
        add_user(path, "ada", password)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        "[]",
        "not json",
        '{"format": 1, "users": []}',
        '{"format": 1, "users": {"a": {}}}',
        '{"format": 2, "users": {}}',
    ],
)
def test_a_damaged_file_is_an_error_that_names_it(path: Path, content: str) -> None:
    path.parent.mkdir()
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"users\.json"):
        Users(path)


def test_a_file_without_users_or_none_at_all(path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        Users(path)
    add_user(path, "ada", "correct horse")
    remove_user(path, "ada")
    with pytest.raises(ConfigurationError, match="names nobody") as caught:
        Users(path)
    assert "graph-agent user add" in caught.value.fix


def test_hashes_of_other_makes_fit_nothing() -> None:
    assert check_password("correct horse", hash_password("correct horse"))
    for broken in ("", "x", "md5$1$2$3$4$5", "scrypt$x$8$1$aa$bb", "scrypt$32768$8$1$!!$??"):
        assert not check_password("correct horse", broken)


def test_the_team_set_up_serves_a_users_file_that_can_be_replaced() -> None:
    root = Path(__file__).parents[2]
    command = json.loads((root / "Dockerfile").read_text(encoding="utf-8").partition("\nCMD ")[2])
    users = Path(command[command.index("--auth") + 1])
    chat = yaml.safe_load((root / "compose.yaml").read_text(encoding="utf-8"))["services"]["chat"]
    mounted = {volume.split(":")[1] for volume in chat["volumes"]}
    assert users == default_users_file(Path("/data"))
    assert (
        "/data" in mounted
    )  # the whole folder: a file that is replaced within a mounted file stays the old one
    assert str(users) not in mounted
    assert "secrets" not in chat
