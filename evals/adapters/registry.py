"""Which adapters there are, and which one reads a path."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from graph_agent.errors import ConfigurationError
from graph_agent.evals.questions import QuestionSet

Load = Callable[[Path, Mapping[str, str]], QuestionSet]
BUILT_IN = ("checkout", "public", "columns", "own")  # modules of this package, asked in this order
SETS = Path(__file__).resolve().parent.parent / "sets"


@dataclass(frozen=True)
class Adapter:
    """One form of question sets.

    Attributes:
        name: as in `--format`.
        description: what it reads.
        detect: whether a path looks like this form; cheap, and never raises for a path that exists.
        load: reads it. Options come from the command line (`--option key=value`); unknown ones are an error
            that the adapter raises by `allowed`.
    """

    name: str
    description: str
    detect: Callable[[Path], bool]
    load: Load


_registered: dict[str, Adapter] = {}


def adapter(name: str, description: str, *, detect: Callable[[Path], bool]) -> Callable[[Load], Load]:
    """Register a function as an adapter."""

    def register(load: Load) -> Load:
        _registered[name] = Adapter(name, description, detect, load)
        return load

    return register


def adapters() -> dict[str, Adapter]:
    """All adapters by name, those that were registered from outside first."""
    before = dict(_registered)
    for module in BUILT_IN:
        import_module(f"graph_agent.evals.adapters.{module}")
    return {**{name: _registered[name] for name in before}, **_registered}


def allowed(options: Mapping[str, str], *names: str) -> None:
    """Check the options of an adapter.

    Raises:
        ConfigurationError: an option that it does not know.
    """
    for name in options:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            raise ConfigurationError(
                f"This form of question sets has no option {name!r}"
                + (f", did you mean {near[0]!r}?" if near else "."),
                f"It knows {', '.join(names)}." if names else "It knows none.",
            )


def load_set(
    reference: str | Path, *, form: str | None = None, options: Mapping[str, str] | None = None
) -> QuestionSet:
    """Read a question set.

    Args:
        reference: a file, a folder, or the name of a set that comes with the package (`sample`); a variant
            may follow after a colon, where the form has any (`xquad_md:de-en`).
        form: name of the adapter; found by looking when not given.
        options: for the adapter.

    Raises:
        ConfigurationError: there is no such set, no adapter knows its form, or it holds faults.
    """
    path, variant = _located(str(reference))
    given = {**({"variant": variant} if variant else {}), **(options or {})}
    known = adapters()
    if form is not None:
        if form not in known:
            raise ConfigurationError(
                f"There is no form {form!r} of question sets.", f"The forms are {', '.join(known)}."
            )
        return known[form].load(path, given)
    for one in known.values():
        if one.detect(path):
            return one.load(path, given)
    raise ConfigurationError(
        f"{path} is in no form of question sets that is known.",
        f"Name one with --format ({', '.join(known)}), or write an adapter: see evals/README.md.",
    )


def find_sets(reference: str | Path) -> list[str]:
    """The sets that a reference names: itself, or when it is a folder of sets, each of them.

    Raises:
        ConfigurationError: there is nothing.
    """
    path, variant = _located(str(reference))
    known = adapters()
    if variant or not path.is_dir() or any(one.detect(path) for one in known.values()):
        return [str(reference)]
    below = sorted(child for child in path.iterdir() if child.is_dir())
    found = [str(child) for child in below if any(one.detect(child) for one in known.values())]
    if not found:
        raise ConfigurationError(
            f"{path} holds no question set.", "Name a folder with a questions.jsonl, or a file."
        )
    return found


def _located(reference: str) -> tuple[Path, str]:
    for text, variant in ((reference, ""), _split(reference)):
        for path in (Path(text).expanduser(), SETS / text):
            if text and path.exists():
                return path, variant
    names = sorted(child.name for child in SETS.iterdir() if child.is_dir()) if SETS.is_dir() else []
    raise ConfigurationError(
        f"There is no question set {reference!r}.",
        f"Name a file, a folder, or one of those that come with the package: {', '.join(names)}.",
    )


def _split(reference: str) -> tuple[str, str]:
    head, colon, tail = reference.rpartition(":")
    return (head, tail) if colon else ("", "")
