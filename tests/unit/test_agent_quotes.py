"""Which statement of a cited passage is shown as the one that bears the claim."""

from __future__ import annotations

from graph_agent.agent.citations import best_quote

RULES = """# Swaps

The roster office takes requests for swaps from any workmate of the same depot. The roster office answers within
one day; silence is not consent. The roster office refuses a swap when rest would fall short.

Requests have to be there 72 hours before the first duty.
"""


def test_what_the_whole_passage_is_about_tells_no_statement_from_another() -> None:
    start, quote = best_quote(RULES, ["The roster office decides on a swap: silence is not consent."])
    assert "silence is not consent" in quote
    assert RULES[start:].startswith(quote[:20])


def test_a_figure_finds_its_statement() -> None:
    assert "72 hours" in best_quote(RULES, ["It needs 72 h of notice at the roster office."])[1]


def test_nothing_in_common_shows_the_beginning() -> None:
    assert best_quote(RULES, ["Zebras graze."])[0] == 0
