"""Numbered items for a chat model: packed into as few requests as its limits allow, each answered once.

What a model answered is kept beside the graph (plain key `enrichments`) under a hash of the text, the model
and the prompt, so that nothing is paid for twice: not after an interruption, not for equal texts, not when a
document is made again.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import orjson
import xxhash
from pydantic import BaseModel

from graph_agent.chat_models.asking import Asker, Stopped
from graph_agent.chat_models.fencing import fence
from graph_agent.chat_models.models import BadReply, ContextTooLong
from graph_agent.errors import EngineUnavailable, GraphAgentError, ModelUnavailable
from graph_agent.prompts import Prompt
from graph_agent.store import DocumentGraph
from graph_agent.text import estimate_tokens

CACHE = "enrichments"
INPUT_TOKENS = 10_000  # of the items of one request; with the prompt far inside a 16k window
OUTPUT_TOKENS = 2_800
ITEMS = 60
AT_A_TIME = 4
TRIES = 2
USELESS = 20  # requests in a row without a usable answer, after which a model is given up
FRAME_TOKENS = 25  # of the lines around an item
_LOOKUP = 500

log = logging.getLogger(__name__)

Answer = dict[str, Any]
"""What a model said of one item, as JSON types; {} when it had nothing to say."""


@dataclass(frozen=True)
class Item:
    """One thing that a model is to say something about.

    Attributes:
        key: names the answer in the cache.
        target: id of the node that the answer is for.
        text: what the model reads.
        output_tokens: what the answer may take.
        long: whether a summary is wanted, too.
        tries: how often it was asked for in vain.
    """

    key: str
    target: str
    text: str
    output_tokens: int
    long: bool = False
    tries: int = 0

    @property
    def input_tokens(self) -> int:
        """Estimated tokens in a request."""
        return estimate_tokens(self.text) + FRAME_TOKENS


def key_of(*parts: str) -> str:
    """The name of an answer in the cache: a hash of all that it depends on."""
    return xxhash.xxh3_128_hexdigest("\x00".join(parts).encode("utf-8", "replace"))


def pack(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Items in order, as many to a request as fit."""
    batch: list[Item] = []
    read = written = 0
    for item in items:
        full = read + item.input_tokens > INPUT_TOKENS or written + item.output_tokens > OUTPUT_TOKENS
        if batch and (full or len(batch) >= ITEMS):
            yield batch
            batch, read, written = [], 0, 0
        batch.append(item)
        read, written = read + item.input_tokens, written + item.output_tokens
    if batch:
        yield batch


def known_answers(graph: DocumentGraph, items: Sequence[Item]) -> dict[str, Answer]:
    """Answers that are in the cache, by key."""
    keys = list(dict.fromkeys(item.key for item in items))
    found: dict[str, Answer] = {}
    with suppress(EngineUnavailable):
        for start in range(0, len(keys), _LOOKUP):
            part = keys[start : start + _LOOKUP]
            for key, blob in zip(part, graph.keys.hmget(CACHE, part), strict=True):
                if blob is not None and isinstance(answer := _loaded(blob), dict):
                    found[key] = answer
    return found


def keep_answers(graph: DocumentGraph, answers: Mapping[str, Answer]) -> None:
    """Put answers into the cache; where that is forbidden they are only in the graph."""
    with suppress(EngineUnavailable):
        graph.keys.hset(CACHE, {key: orjson.dumps(answer) for key, answer in answers.items()})


def ask_all(
    asker: Asker,
    prompt: Prompt,
    items: Sequence[Item],
    form: type[BaseModel],
    *,
    preface: str = "",
    read: Callable[[Any], Mapping[int, Answer]],
    done: Callable[[Sequence[tuple[Item, Answer]]], None],
    stop: threading.Event | None = None,
) -> list[Item]:
    """Ask for every item; a request that fails as too long or as garbage is asked for again in halves.

    Args:
        asker: the model.
        prompt: what is wanted.
        items: distinct by key.
        form: of a reply.
        preface: stands before the items of each request.
        read: gives the usable answers of a reply by number.
        done: given answers as they come, in this thread.
        stop: when set, what is under way is finished and nothing more is sent.

    Returns:
        Items without a usable answer.

    Raises:
        ModelUnavailable: the model does not answer, or nothing usable many times in a row; what came before
            is done.
    """
    waiting = deque(pack(items))
    useless = 0
    failed: list[Item] = []
    running: dict[Future[Any], list[Item]] = {}
    with ThreadPoolExecutor(AT_A_TIME, thread_name_prefix="chat-model") as executor:
        try:
            while waiting or running:
                while waiting and len(running) < AT_A_TIME and not (stop is not None and stop.is_set()):
                    batch = waiting.popleft()
                    running[executor.submit(asker.ask, prompt.text, preface + _listed(batch), form)] = batch
                if not running:
                    break
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    batch = running.pop(future)
                    answered, left = _settle(future, batch, read, done)
                    useless = 0 if answered else useless + 1
                    if useless >= USELESS:
                        raise _gave_up(asker.name, future)
                    for again in left:
                        waiting.extend(pack(item for item in again if item.tries < TRIES))
                        failed += [item for item in again if item.tries >= TRIES]
        except Stopped:
            waiting.clear()
        except ModelUnavailable:
            _save(running, read, done)
            raise
        finally:
            for future in running:
                future.cancel()
    return failed + [item for batch in waiting for item in batch]


def _settle(
    future: Future[Any],
    batch: list[Item],
    read: Callable[[Any], Mapping[int, Answer]],
    done: Callable[[Sequence[tuple[Item, Answer]]], None],
) -> tuple[int, list[list[Item]]]:
    """Take a reply in; gives back how many it answered, and what it left open, in batches to ask for again."""
    try:
        answers = read(future.result())
    except (BadReply, ContextTooLong) as error:
        log.warning("A request for %d items failed: %s", len(batch), error)
        if len(batch) > 1:
            half = len(batch) // 2
            return 0, [batch[:half], batch[half:]]
        item = batch[0]
        text = item.text[: len(item.text) // 2] if isinstance(error, ContextTooLong) else item.text
        return 0, [[replace(item, text=text, tries=item.tries + 1)]]
    answered = [(item, answers[n]) for n, item in enumerate(batch, start=1) if n in answers]
    if answered:
        done(answered)
    left = [replace(item, tries=item.tries + 1) for n, item in enumerate(batch, start=1) if n not in answers]
    return len(answered), [left]


def _save(
    running: Mapping[Future[Any], list[Item]],
    read: Callable[[Any], Mapping[int, Answer]],
    done: Callable[[Sequence[tuple[Item, Answer]]], None],
) -> None:
    """Take in the replies that were under way when another request failed: they are paid for."""
    for future in running:
        future.cancel()
    for future, batch in running.items():
        if not future.cancelled():
            with suppress(GraphAgentError, Stopped):
                _settle(future, batch, read, done)


def _gave_up(name: str, last: Future[Any]) -> BadReply:
    cause = last.exception()
    said = (
        cause.message
        if isinstance(cause, GraphAgentError)
        else "The last reply had none of what was asked for."
    )
    return BadReply(
        f"The model {name} gave no usable answer to {USELESS} requests in a row. {said}",
        "Use another model; what it had answered before is kept.",
    )


def _listed(batch: Sequence[Item]) -> str:
    shown = [fence(f"item {n}", item.text) for n, item in enumerate(batch, start=1)]
    long = [str(n) for n, item in enumerate(batch, start=1) if item.long]
    return "\n\n".join([*shown, f"Long items: {', '.join(long) or 'none'}."])


def _loaded(blob: bytes) -> Any:
    try:
        return orjson.loads(blob)
    except orjson.JSONDecodeError:
        return None
