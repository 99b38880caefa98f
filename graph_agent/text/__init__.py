"""Text analysis: one home for what ingest, search and the answer check must agree on.

* `fold`, `words`, `estimate_tokens`, `passage_text`: Unicode folding and simple measures;
* `terms`, `query_terms`, `tokens`: text to index terms (words, identifiers, stems, CJK bigrams);
* `detect_language`, `STOP_WORDS`: by script and by frequent words;
* `numbers`, `same_number`: figures as written in several countries, for checking quotations.

`ANALYSER` names the behaviour of `terms`; it is stored beside every cached index, and must change
whenever the terms of any text change.
"""

from graph_agent.text.folding import estimate_tokens, fold, passage_text, shorten_breadcrumb, words
from graph_agent.text.language import STOP_WORDS, detect_language
from graph_agent.text.numerals import Number, numbers, same_number
from graph_agent.text.terms import ANALYSER, Token, query_terms, terms, tokens

__all__ = [
    "ANALYSER",
    "STOP_WORDS",
    "Number",
    "Token",
    "detect_language",
    "estimate_tokens",
    "fold",
    "numbers",
    "passage_text",
    "query_terms",
    "same_number",
    "shorten_breadcrumb",
    "terms",
    "tokens",
    "words",
]
