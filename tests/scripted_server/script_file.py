"""Scripts in files, for a server in a process of its own.

A Python file names `script` (a list of steps or replies), `respond` (a function of the request), or both, and may
name `configure` (a function that is given the server). A YAML or JSON file is a list of steps:

    - expect: {user: "who paid", tools: [graph_query]}      # arguments of expect(); may be left out
      reply: {tool_calls: [[graph_query, {cypher: RETURN 1}]]}
    - reply: {text: {content: "Bob [1].", chunks: 3}}
      times: 2

A reply is the name of a function in replies.py with one value: a mapping is its keyword arguments, a list its
positional ones, anything else its only one.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import yaml

from .replies import FACTORIES, Reply
from .server import ScriptedServer
from .steps import Step, expect

STEP_KEYS = {"expect", "reply", "times"}


def load_script(path: Path, server: ScriptedServer) -> None:
    """Give `server` the script in `path`.

    Raises:
        ValueError: the file is not a script; names the step and what is wrong.
    """
    if path.suffix == ".py":
        names = runpy.run_path(str(path))
        if not {"script", "respond", "configure"} & set(names):
            raise ValueError(f"{path}: names none of script, respond, configure")
        server.script(*names.get("script", ()))
        if "respond" in names:
            server.respond(names["respond"])
        if "configure" in names:
            names["configure"](server)
        return
    steps = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(steps, list):
        raise ValueError(f"{path}: a script is a list of steps, not {type(steps).__name__}")
    server.script(*(_step(path, number, given) for number, given in enumerate(steps, 1)))


def _step(path: Path, number: int, given: Any) -> Step:
    where = f"{path.name}, step {number}"
    if not isinstance(given, dict) or "reply" not in given or set(given) - STEP_KEYS:
        raise ValueError(
            f"{where}: {given!r} is not a mapping with `reply` and no keys but {sorted(STEP_KEYS)}"
        )
    try:
        answer = _reply(given["reply"])
        checks = expect(**given["expect"]).checks if given.get("expect") else ()
        return Step(answer, checks, where).times(int(given.get("times", 1)))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error


def _reply(given: Any) -> Reply:
    name, value = (given, {}) if isinstance(given, str) else _only_item(given)
    if name not in FACTORIES:
        raise ValueError(f"no reply is named {name!r}; there are {', '.join(sorted(FACTORIES))}")
    make = FACTORIES[name]
    if name == "schema_refused":
        return make(_reply(value))
    if isinstance(value, dict):
        return make(**value)
    return make(*value) if isinstance(value, list) else make(value)


def _only_item(given: Any) -> tuple[str, Any]:
    if not isinstance(given, dict) or len(given) != 1:
        raise ValueError(f"a reply is one name with its value, not {given!r}")
    return next(iter(given.items()))
