"""Single requests for a form: what servers refuse, delay or break, over real HTTP."""

from __future__ import annotations

import threading
import time

import pytest
from pydantic import BaseModel
from scripted_server import (
    Received,
    Reply,
    ScriptedServer,
    chat_model,
    context_length_exceeded,
    empty,
    garbage,
    status,
    structured,
    text,
    truncated,
)

from graph_agent.chat_models.asking import ATTEMPTS, Asker, Stopped
from graph_agent.chat_models.models import BadReply, ContextTooLong
from graph_agent.errors import ModelUnavailable


class Colour(BaseModel):
    """A colour."""

    name: str


GREEN = structured({"name": "green"})


def ask(server: ScriptedServer, *replies: Reply) -> tuple[Colour, Asker]:
    server.script(*replies)
    asker = Asker(chat_model(server), "scripted")
    return asker.ask("You name colours.", "Which colour has grass?", Colour), asker


@pytest.mark.parametrize("first", [status(429, retry_after=0), status(503, retry_after=0)])
def test_what_passes_is_asked_again(scripted_server: ScriptedServer, first: Reply) -> None:
    colour, asker = ask(scripted_server, first, GREEN)
    assert (colour.name, asker.cost.calls) == ("green", 2)


@pytest.mark.parametrize(
    "first",
    [
        status(400, "response_format is not supported"),
        text("green, of course"),
        truncated('{"name": "gre'),
        empty(),
        garbage("<html>"),
    ],
)
def test_another_form_is_tried_when_one_fails(scripted_server: ScriptedServer, first: Reply) -> None:
    colour, asker = ask(scripted_server, first, GREEN)
    assert (colour.name, asker.cost.calls) == ("green", 2)


def test_a_parameter_that_is_refused_is_left_out_from_then_on(scripted_server: ScriptedServer) -> None:
    def picky(request: Received) -> Reply:
        if "temperature" in request.body:
            return status(400, "Unsupported value: temperature does not support 0.0 with this model")
        return GREEN

    scripted_server.respond(picky)
    asker = Asker(chat_model(scripted_server, temperature=0.0), "scripted")
    for _ in range(2):
        assert asker.ask("You name colours.", "Grass?", Colour).name == "green"
    assert len(scripted_server.chats) == 3


def test_what_does_not_pass_is_said_in_our_words(scripted_server: ScriptedServer) -> None:
    with pytest.raises(ModelUnavailable, match="refused the key"):
        ask(scripted_server, status(401, "bad key"))
    with pytest.raises(ContextTooLong):
        ask(scripted_server, context_length_exceeded())
    with pytest.raises(BadReply, match="no Colour"):
        ask(scripted_server, text("Hm."), text("I cannot say."))
    with pytest.raises(ModelUnavailable):
        ask(scripted_server, *[status(429, retry_after=0)] * ATTEMPTS)


def test_a_stop_ends_the_wait_between_two_attempts(scripted_server: ScriptedServer) -> None:
    scripted_server.script(status(429, retry_after=30))
    stop = threading.Event()
    asker = Asker(chat_model(scripted_server), "scripted", stop=stop)
    threading.Timer(0.3, stop.set).start()
    began = time.monotonic()
    with pytest.raises(Stopped):
        asker.ask("You name colours.", "Grass?", Colour)
    assert time.monotonic() - began < 10
