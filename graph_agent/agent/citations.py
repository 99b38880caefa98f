"""[n] in an answer: reading them, binding them to passages, and the list of sources at the end."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graph_agent.agent.phrases import phrase
from graph_agent.agent.response import Citation, Passage
from graph_agent.agent.sentences import Statement, on_one_line, statements
from graph_agent.text import STOP_WORDS, numbers, terms

QUOTE_CHARACTERS = 400

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
# [3], [1, 2], [1-3], [^1]; not the text of a Markdown link; numbers start at 1, so `a[0]` is none
_CITATION = re.compile(r"\[\^?([1-9]\d{0,2}(?:\s*[,;\u2013-]\s*\^?[1-9]\d{0,2})*)\](?!\()")
_SPACED_CITATION = re.compile(r"[ \t]*" + _CITATION.pattern)
_FOREIGN = re.compile(
    r"\u3010\s*(\d{1,3})[^\u3011\n]{0,30}\u3011|\[(?:passage|source|quelle|ref)\.?\s*(\d{1,3})\]",
    re.IGNORECASE,
)
_SOURCES_HEAD = re.compile(
    r"\n\s*(?:#{1,6}\s*|\*\*)?(?:sources?|references|quellen?|fuentes|fonti|bronnen|fontes|来源|參考|参考资料|出典)"
    r"(?:\*\*)?\s*[:\uff1a]?\s*(?:\*\*)?\s*\n",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Cited:
    """A statement of an answer and the numbers it cites."""

    statement: Statement
    text: str
    numbers: tuple[int, ...]

    @property
    def bare(self) -> str:
        """The words without the citations."""
        return without_citations(self.text)


def normalised(answer: str) -> str:
    """Every citation as [n]: lists and ranges taken apart, other bracket styles replaced. Code stays."""
    return _outside_code(answer, _normalised)


def _normalised(text: str) -> str:
    text = _FOREIGN.sub(lambda match: f"[{match[1] or match[2]}]", text)
    return _CITATION.sub(lambda match: "".join(f"[{n}]" for n in _expand(match)), text)


def _expand(match: re.Match[str]) -> list[int]:
    found: list[int] = []
    for piece in re.split(r"[,;]", match[1].replace("^", "")):
        ends = [int(end) for end in re.split(r"[\u2013-]", piece.strip()) if end.strip()]
        if len(ends) == 2 and 0 <= ends[1] - ends[0] <= 30:
            found += range(ends[0], ends[1] + 1)
        else:
            found += ends
    return list(dict.fromkeys(found))


def escaped(text: str) -> str:
    """Text of a document in an answer: what looks like a citation there is none. Code stays."""
    return _outside_code(text, lambda piece: _CITATION.sub(lambda match: f"\\[{match[0][1:-1]}\\]", piece))


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    parts: list[str] = []
    at = 0
    for code in _CODE.finditer(text):
        parts += [change(text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, change(text[at:])])


def cited_numbers(text: str) -> list[int]:
    """The numbers that a text cites, in the order of first use; what stands in code does not count."""
    found: list[int] = []
    for match in _CITATION.finditer(_CODE.sub(" ", text)):
        found += _expand(match)
    return list(dict.fromkeys(found))


def renumbered(text: str, numbers: Mapping[int, int]) -> str:
    """The text with each [n] replaced by its new number; code stays."""
    return _outside_code(
        text,
        lambda piece: _CITATION.sub(
            lambda match: "".join(f"[{numbers.get(n, n)}]" for n in _expand(match)), piece
        ),
    )


def in_order_of_use(text: str, known: Iterable[int]) -> dict[int, int]:
    """New numbers by old ones: the cited ones count from 1 in the order of first use, the others follow."""
    numbers = list(known)
    order = dict.fromkeys([*(n for n in cited_numbers(text) if n in numbers), *numbers])
    return {old: new for new, old in enumerate(order, start=1)}


def without_citations(text: str) -> str:
    """The text without its [n]."""
    return _SPACED_CITATION.sub("", text)


def cited_statements(answer: str) -> list[Cited]:
    """The statements of an answer, headings and code left out, each with the numbers it cites."""
    found = []
    for statement in statements(answer):
        if statement.kind in {"heading", "code", "header"}:
            continue
        text = statement.of(answer)
        found.append(Cited(statement, text, tuple(cited_numbers(text))))
    return found


def without_source_list(answer: str) -> str:
    """The answer without a list of sources that the model wrote at its end: ours is appended instead."""
    last = None
    for match in _SOURCES_HEAD.finditer("\n" + answer + "\n"):
        last = match
    if last is None:
        return answer.rstrip()
    body, tail = answer[: max(0, last.start() - 1)], answer[max(0, last.end() - 1) :]
    # a list of sources is short lines; a section that happens to be called Sources has sentences
    lines = [line.strip() for line in tail.splitlines() if line.strip()]
    return body.rstrip() if body.strip() and all(len(line) <= 200 for line in lines) else answer.rstrip()


def source_list(passages: Iterable[Passage], cited: Sequence[int], language: str) -> str:
    """The heading and one line per cited document, its display path and nothing else; "" without any."""
    by_number = {passage.n: passage for passage in passages}
    paths = dict.fromkeys(
        by_number[n].display_path or by_number[n].path or by_number[n].title for n in cited if n in by_number
    )
    lines = [on_one_line(path) for path in paths if path]
    return "\n".join([phrase("sources", language), *lines]) if lines else ""


def bind(
    answer: str,
    passages: Iterable[Passage],
    *,
    failed: Mapping[int, Any],
    quotes: Mapping[int, str] | None = None,
) -> list[Citation]:
    """A Citation for each number that the answer cites.

    Args:
        answer: with citations normalised.
        passages: everything that was read.
        failed: numbers whose sentences did not pass the check.
        quotes: exact quotes by number, when the answer is made of extracts.
    """
    by_number = {passage.n: passage for passage in passages}
    sentences: dict[int, list[str]] = {}
    for cited in cited_statements(answer):
        for n in cited.numbers:
            sentences.setdefault(n, []).append(cited.bare)
    found = []
    for n in cited_numbers(answer):
        passage = by_number.get(n)
        if passage is None:
            found.append(Citation(n=n))
            continue
        exact = (quotes or {}).get(n, "")
        start, quote = (
            _located(passage.text, exact) if exact else best_quote(passage.text, sentences.get(n, []))
        )
        found.append(
            Citation(
                n=n,
                section_id=passage.section_id,
                document=passage.document_id,
                path=passage.display_path or passage.path,
                page=passage.page,
                line=passage.line + passage.text.count("\n", 0, start) if passage.line else 0,
                quote=quote,
                verified=n not in failed,
            )
        )
    return found


def _located(text: str, quote: str) -> tuple[int, str]:
    return max(0, text.find(quote)), shortened(quote)


def best_quote(text: str, sentences: Sequence[str]) -> tuple[int, str]:
    """Where in a passage the statement begins that shares most with `sentences`, and its words.

    A word counts by how few statements of the passage hold it: what all of it is about tells none from the others.
    """
    wanted = _content(" ".join(sentences))
    figures = {number.value for sentence in sentences for number in numbers(sentence)}
    best, best_score = (0, shortened(text.strip())), 0.0
    candidates = [each for each in statements(text) if each.kind not in {"heading", "header"}]
    common = [wanted & _content(each.of(text)) for each in candidates]
    holders = Counter(term for found in common for term in found)
    for statement, found in zip(candidates, common, strict=True):
        words = statement.of(text)
        shared = sum(2.0 / (1 + holders[term]) for term in found)
        held = len(figures & {number.value for number in numbers(words)}) if figures else 0
        score = (shared + 2.0 * held) / (4.0 + len(words) / 80)
        if score > best_score:
            best, best_score = (statement.start, shortened(words)), score
    return best


def _content(text: str) -> set[str]:
    return {term for term in terms(text) if term not in STOP_WORDS["en"] and len(term) > 1}


def shortened(text: str, limit: int = QUOTE_CHARACTERS) -> str:
    """At most `limit` characters, cut between words; a cut is shown."""
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    return (cut[: cut.rfind(" ")] if " " in cut[limit // 2 :] else cut).rstrip() + "…"
