"""What a question gets back: plain data, JSON-able, the same for the command line, the chat and the evaluations."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Mode = Literal["model", "extractive"]
Status = Literal["supported", "partly", "unsupported", "unchecked"]


class Record(BaseModel):
    """Base of all parts of a response: unknown fields are refused, so that a typo is found."""

    model_config = ConfigDict(extra="forbid")


class Passage(Record):
    """A piece of a document that was read, and may be cited as [n].

    Attributes:
        n: its number in this answer, from 1.
        section_id: the section it is from; "" on a graph without sections.
        chunk_id: the chunk that matched; "" when a whole section was read.
        document_id: content hash of the document.
        path: absolute path of the file, or what the graph has in its place.
        display_path: path relative to the root that was ingested.
        title: title of the document.
        breadcrumb: titles from the document down to the section.
        page: page of the document, from 1; None when it has no pages.
        line: line of the document's text on which `text` begins, from 1; 0 when unknown.
        date: of the document: YYYY-MM-DD, YYYY-MM or YYYY; None when it has none.
        text: the words, as in the document.
        score: how well it matched, in [0, 1]; 0 when it was read for another reason.
    """

    n: int
    section_id: str = ""
    chunk_id: str = ""
    document_id: str = ""
    path: str = ""
    display_path: str = ""
    title: str = ""
    breadcrumb: list[str] = Field(default_factory=list)
    page: int | None = None
    line: int = 0
    date: str | None = None
    text: str = ""
    score: float = 0.0


class Citation(Record):
    """One [n] of the answer, in the order in which the answer first uses them.

    Attributes:
        n: number of the passage.
        document: content hash of the document.
        path: display path of the document.
        line: line of the document on which the quote begins, from 1; 0 when unknown.
        quote: the words of the passage that bear the sentence, at most 400 characters.
        verified: the passage was read, and figures, quotations and names of the sentences that cite it
            stand in it.
    """

    n: int
    section_id: str = ""
    document: str = ""
    path: str = ""
    page: int | None = None
    line: int = 0
    quote: str = ""
    verified: bool = False


class Source(Record):
    """A document among the results of the searches.

    Attributes:
        hits: how many of its passages were found.
        cited: whether the answer cites it.
    """

    document_id: str = ""
    path: str = ""
    display_path: str = ""
    title: str = ""
    hits: int = 0
    cited: bool = False
    date: str | None = None
    labels: dict[str, list[str]] = Field(default_factory=dict)


class StageRecord(Record):
    """One stage of the machine as it ran, or why it did not."""

    name: str
    seconds: float = 0.0
    reason: str = ""
    skipped: bool = False
    detail: dict[str, Any] = Field(default_factory=dict)


class CypherRun(Record):
    """A query that was run.

    Attributes:
        params: values of its parameters.
        rows: the rows, as many as the row cap lets through.
        total: how many there are in all, None when that is not known.
        error: what the engine or the guard said; "" when it ran.
        hint: near names, or another way to write it.
    """

    query: str
    params: dict[str, Any] = Field(default_factory=dict)
    columns: list[str] = Field(default_factory=list)
    rows: list[dict[str, Any]] = Field(default_factory=list)
    total: int | None = None
    truncated: bool = False
    error: str = ""
    hint: str = ""


class Usage(Record):
    """What the question cost.

    Attributes:
        estimated: some token counts are estimates, because the model did not tell.
        seconds: wall time.
        cost: in the currency of the configured prices; None without prices.
    """

    model_calls: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False
    seconds: float = 0.0
    cost: float | None = None


class Coverage(Record):
    """How much of what the question could be about was searched.

    Attributes:
        complete: nothing in scope was left out.
        notes: what was left out, one sentence each.
    """

    complete: bool = True
    documents: int = 0
    chunks: int = 0
    with_vectors: int = 0
    unreadable: int = 0
    notes: list[str] = Field(default_factory=list)


class Finding(Record):
    """A sentence of the answer that its citations do not bear, and what is missing."""

    sentence: str
    citations: list[int] = Field(default_factory=list)
    problem: str = ""


class Verdict(Record):
    """What the check of the answer found.

    Attributes:
        status: supported: every cited sentence stands in its passages; partly: some do; unsupported: none
            does; unchecked: there was nothing to check.
        checked: sentences that were checked.
        rewritten: the answer was written again because of the findings.
    """

    status: Status = "unchecked"
    checked: int = 0
    findings: list[Finding] = Field(default_factory=list)
    rewritten: bool = False


class Calculation(Record):
    """One arithmetic expression that was evaluated for the answer."""

    expression: str
    result: str


class Failure(Record):
    """Why the answer is not what it should be.

    Attributes:
        kind: name of the exception.
        fix: what to do about it.
        exit_code: what a command line ends with.
    """

    kind: str
    message: str
    fix: str = ""
    exit_code: int = 3


class AgentResponse(Record):
    """The whole result of one question.

    Attributes:
        standalone: the question made whole from the conversation.
        answer: Markdown with [n] and, at its end, the list of sources.
        answered: False when the documents do not hold the answer, or it could not be looked for.
        mode: who wrote the answer: a model, or extracts of the best passages.
        sources: documents among all search results, in rank order.
        seconds: wall time of the question, as in `usage`.
        passages: what may be cited, by n.
        prompts: content hash by name of each prompt that was used.
        notes: what the reader should know: limits that were met, results cut, weaker ways taken.
        error: set when a model or the engine failed; the answer then says so, too.
    """

    question: str
    standalone: str = ""
    answer: str
    answered: bool
    mode: Mode
    language: str = "en"
    thread_id: str = ""
    citations: list[Citation] = Field(default_factory=list)
    sources: list[Source] = Field(default_factory=list)
    passages: list[Passage] = Field(default_factory=list)
    stages: list[StageRecord] = Field(default_factory=list)
    cypher: list[CypherRun] = Field(default_factory=list)
    calculations: list[Calculation] = Field(default_factory=list)
    usage: Usage = Field(default_factory=Usage)
    seconds: float = 0.0
    coverage: Coverage = Field(default_factory=Coverage)
    verdict: Verdict = Field(default_factory=Verdict)
    prompts: dict[str, str] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)
    error: Failure | None = None
