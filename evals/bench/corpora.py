"""Folders of Markdown as an in-memory corpus, and question sets with the sections that answer them.

Everything goes through the code that ingest uses (converter, sections, chunks), only without an engine.
The data lies in `../shared/data` beside a checkout; users do not have it.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from graph_agent.embeddings import Embedder, local_tokenizer
from graph_agent.ingest.chunks import chunk_section, fit_breadcrumb
from graph_agent.ingest.convert.registry import convert
from graph_agent.ingest.convert.text import convert_text
from graph_agent.ingest.document import Converted
from graph_agent.ingest.sections import document_title, section_tree
from graph_agent.retrieval.corpus import Corpus, DocumentRow, Place, changed_corpus, with_vectors
from graph_agent.retrieval.mirror import MemorySource, Passage
from graph_agent.text import detect_language, passage_text, words
from graph_agent.text.postings import ChunkText, DocumentPostings, build_postings

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
CHUNK_TOKENS = 220
OVERLAP = 20
SEED = 7
SAMPLE = Path(__file__).resolve().parents[1] / "sets" / "sample"
ANY_FILE = "*"

Gold = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Question:
    """A question and the (path, section title) pairs that answer it."""

    text: str
    gold: Gold


@dataclass(frozen=True)
class QuestionSet:
    """Questions over the files of one folder.

    Attributes:
        name: shown in tables.
        root: folder of the corpus.
        files: paths below it.
        questions: with gold; paths are below `root`.
    """

    name: str
    root: Path
    files: tuple[str, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Built:
    """A corpus in memory with its passages in row order."""

    corpus: Corpus
    source: MemorySource
    passages: tuple[Passage, ...]

    @property
    def vectors(self) -> npt.NDArray[np.float32]:
        """Vector of each passage: float32 [passages, dimension]."""
        held = self.corpus.vectors
        return np.zeros((len(self.passages), 0), dtype=np.float32) if held is None else held


def build(root: Path, files: Sequence[str], embedder: Embedder | None) -> Built:
    """Read, cut, analyse and (with an embedder) embed the files of a folder."""
    documents: list[DocumentRow] = []
    postings: dict[str, DocumentPostings] = {}
    passages: list[Passage] = []
    for name in files:
        data = (root / name).read_bytes()
        converted = convert(data, name)
        text_hash = xxhash.xxh3_64_hexdigest(converted.markdown.encode())
        title = document_title(converted, name)
        documents.append(
            DocumentRow(
                content_hash=xxhash.xxh3_64_hexdigest(data),
                markdown_hash=text_hash,
                path=name,
                filename=Path(name).name,
                title=title,
                places=(Place("root", name, Path(name).name, str(root / name)),),
            )
        )
        if text_hash in postings:
            continue
        own = list(_passages(converted, name, text_hash, embedder))
        passages += own
        language = detect_language("\n".join(passage.text for passage in own)[:4_000])
        chunks = [ChunkText(*_place(passage.chunk_id), passage.text, passage.breadcrumb) for passage in own]
        postings[text_hash] = build_postings(chunks, "en" if language == "und" else language)
    corpus = changed_corpus(Corpus(), version=1, documents=documents, folders=(), added=postings, removed=())
    if embedder is not None:
        vectors = embedder.embed_passages([passage_text(each.breadcrumb, each.text) for each in passages])
        blocks = {name: vectors[span.start : span.stop] for name, span in corpus.spans.items()}
        corpus = with_vectors(corpus, blocks, vectors.shape[1])
    return Built(corpus, MemorySource(corpus, passages), tuple(passages))


def _passages(
    converted: Converted, name: str, text_hash: str, embedder: Embedder | None
) -> Iterator[Passage]:
    tokenize = embedder.token_offsets if embedder else _local_offsets
    for section in section_tree(converted, name):
        trail = tuple(fit_breadcrumb(section.breadcrumb, tokenize, CHUNK_TOKENS))
        for chunk in chunk_section(section, tokenize, CHUNK_TOKENS, OVERLAP):
            section_id = f"{text_hash}::{section.sequence}"
            yield Passage(
                f"{section_id}::{chunk.index}", chunk.text, section_id, section.title, section.level,
                section.kind, trail, chunk.start_line, chunk.page,
            )  # fmt: skip


def _local_offsets(text: str) -> list[tuple[int, int]]:
    """Token offsets without loading a model."""
    return local_tokenizer().encode(text, add_special_tokens=False).offsets


def _place(chunk_id: str) -> tuple[int, int]:
    _, sequence, index = chunk_id.split("::")
    return int(sequence), int(index)


def _questions(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def _files(root: Path, pattern: str = "*.md") -> tuple[str, ...]:
    found = (path for path in root.rglob(pattern) if path.is_file() and path.suffix != ".toml")
    return tuple(sorted(str(path.relative_to(root)) for path in found))


def sample() -> QuestionSet:
    """The project's own questions on its sample corpus of many formats, those that passages answer."""
    root = SAMPLE / "corpus"
    questions = [
        Question(row["question"], frozenset(_evidence(root, each) for each in row["evidence"]))
        for row in _questions(SAMPLE / "questions.jsonl")
        if row["evidence"] and all(each.get("section") or each.get("text") for each in row["evidence"])
    ]
    return QuestionSet("sample", root, _files(root, ANY_FILE), tuple(questions))


def _evidence(root: Path, evidence: dict[str, Any]) -> tuple[str, str]:
    """Path and section title of a piece of evidence; where it names no section, of the one that holds its text."""
    path = evidence["doc"]
    if evidence.get("section"):
        return path, _plain(evidence["section"])
    converted = convert((root / path).read_bytes(), path)
    wanted = words(evidence["text"])
    sections = section_tree(converted, path)
    return path, next(
        (each.title for each in sections if set(wanted) <= set(words(each.text))), sections[0].title
    )


def rust_book() -> QuestionSet:
    """Quiz questions on the Rust book; the sections since the last quiz answer."""
    root = DATA / "rust_book_quiz" / "corpus"
    questions = []
    for row in _questions(DATA / "rust_book_quiz" / "dev" / "questions.jsonl"):
        gold = set()
        for evidence in row["evidence"]:
            for title in evidence.get("sections_since_last_quiz") or [evidence["section"]]:
                gold.add((evidence["doc"], _plain(title)))
        questions.append(Question(str(row["question"]), frozenset(gold)))
    return QuestionSet("rust_book_quiz", root, _files(root), tuple(questions))


def xquad(asked: str, answered: str) -> QuestionSet:
    """Questions in one language over passages in another (or the same)."""
    root = DATA / "xquad_md" / "corpus" / answered
    questions = []
    for row in _questions(DATA / "xquad_md" / "dev" / "questions.jsonl"):
        if row["lang"] != asked:
            continue
        gold = {(each["doc"].split("/", 1)[1], each["section"]) for each in row["evidence"]}
        questions.append(Question(str(row["question"]), frozenset(gold)))
    name = f"xquad {asked}" if asked == answered else f"xquad {asked} over {answered}"
    return QuestionSet(name, root, _files(root), tuple(questions))


def eips(kind: str, *, documents: int = 100) -> QuestionSet:
    """Questions on Ethereum proposals.

    Args:
        kind: known-item (which section holds this sentence: the set's own), sentence (the same for sentences
            sampled here, as they are), description (the front matter's one line, which stands in no section,
            asks for the abstract or the motivation).
        documents: how many files to take besides those that the questions need; embedding takes time.
    """
    root = DATA / "eips" / "corpus"
    names = _files(root)
    draw = random.Random(SEED)  # noqa: S311 - a fixed sample
    rows = [
        row for row in _questions(DATA / "eips" / "dev" / "questions.jsonl") if row["type"] == "known-item"
    ]
    needed = {each["doc"] for row in rows for each in row["evidence"]}
    files = tuple(sorted(needed | set(draw.sample(names, min(documents, len(names))))))
    if kind == "known-item":
        questions = [
            Question(
                str(row["question"]),
                frozenset((each["doc"], _plain(each["section"])) for each in row["evidence"]),
            )
            for row in rows
        ]
    elif kind == "sentence":
        questions = _sampled_sentences(root, files, draw)
    else:
        questions = [question for name in files if (question := _description(root, name)) is not None]
    return QuestionSet(f"eips {kind}", root, files, tuple(questions))


def _sampled_sentences(root: Path, files: Sequence[str], draw: random.Random) -> list[Question]:
    found: list[Question] = []
    for name in files:
        converted = convert_text((root / name).read_bytes(), name)
        for section in section_tree(converted, name):
            gold = frozenset({(name, section.title)})
            found += [Question(sentence, gold) for sentence in _sentences(section.text)]
    return draw.sample(found, min(120, len(found)))


def _sentences(text: str) -> list[str]:
    """Plain sentences of some length."""
    pieces = re.split(r"(?<=[.!?])\s+", text)
    return [piece for piece in pieces if 60 < len(piece) < 220 and not re.search(r"[`\n#|]", piece)]


def _description(root: Path, name: str) -> Question | None:
    converted = convert_text((root / name).read_bytes(), name)
    text = str(converted.metadata.get("description") or "")
    wanted = {"Abstract", "Simple Summary", "Motivation"}
    gold = {(name, section.title) for section in section_tree(converted, name) if section.title in wanted}
    return Question(text, frozenset(gold)) if len(text) > 20 and gold else None


def _plain(title: str) -> str:
    """A heading without its Markdown, as section titles are."""
    return re.sub(r"[`*_]+", "", title).strip()


SETS: dict[str, Callable[[], QuestionSet]] = {
    "sample": sample,
    "rust": rust_book,
    "xquad-en": lambda: xquad("en", "en"),
    "xquad-de": lambda: xquad("de", "de"),
    "xquad-zh": lambda: xquad("zh", "zh"),
    "xquad-de-en": lambda: xquad("de", "en"),
    "xquad-zh-en": lambda: xquad("zh", "en"),
    "eips-known-item": lambda: eips("known-item"),
    "eips-sentence": lambda: eips("sentence"),
    "eips-whole": lambda: eips("known-item", documents=1_000),
    "eips-description": lambda: eips("description", documents=1_000),
}


def ndcg(ranked: Sequence[tuple[str, str]], gold: Gold, k: int = 10) -> float:
    """Normalised discounted cumulative gain of the first k (Jarvelin and Kekalainen 2002), binary gain."""
    gain = sum(1.0 / np.log2(place + 2) for place, unit in enumerate(ranked[:k]) if unit in gold)
    ideal = sum(1.0 / np.log2(place + 2) for place in range(min(k, len(gold))))
    return float(gain / ideal) if ideal else 0.0


def bootstrap(differences: Sequence[float], *, draws: int = 4_000) -> tuple[float, float]:
    """95 % interval of the mean of paired differences, by resampling questions."""
    values = np.asarray(differences)
    picks = np.random.default_rng(SEED).integers(0, len(values), (draws, len(values)))
    low, high = np.percentile(values[picks].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)
