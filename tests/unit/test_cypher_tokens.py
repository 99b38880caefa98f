"""Tokens are cut as FalkorDB's parser cuts them, and words get the role they have there."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.errors import QueryRefused
from graph_agent.store.cypher_reader import read_structure
from graph_agent.store.cypher_structure import Structure
from graph_agent.store.cypher_tokens import Token, fold, significant, tokenize


def cut(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in tokenize(text) if token.kind != "space"]


def structure(text: str) -> Structure:
    return read_structure(significant(tokenize(text)))


def roles(text: str) -> dict[str, str]:
    read = structure(text)
    return {token.text: role for token, role in zip(read.tokens, read.roles, strict=True)}


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("RETURN 'it\\'s'", [("name", "RETURN"), ("string", "'it\\'s'")]),
        ("'a\\\\' 'b'", [("string", "'a\\\\'"), ("string", "'b'")]),
        ("'a\nb'", [("string", "'a\nb'")]),
        ('"\'"', [("string", '"\'"')]),
        ("`a b``c`", [("quoted", "`a b`"), ("quoted", "`c`")]),  # the engine knows no doubled backtick
        ("/* a /* b */ c", [("comment", "/* a /* b */"), ("name", "c")]),
        ("// a\rb\nc", [("comment", "// a\rb"), ("name", "c")]),  # a lone carriage return ends no comment
        ("$p $`a b`", [("param", "$p"), ("param", "$`a b`")]),
        ("1..3", [("number", "1"), ("punct", ".."), ("number", "3")]),
        ("1.5e-3 .5 0x1F 1CREATE", [("number", "1.5e-3"), ("number", ".5"), ("number", "0x1F"), ("number", "1CREATE")]),
        ("n.x", [("name", "n"), ("punct", "."), ("name", "x")]),
        ("1.x", [("number", "1"), ("punct", "."), ("name", "x")]),
        ("a$b", [("name", "a$b")]),
        ("a<>b<=c", [("name", "a"), ("punct", "<>"), ("name", "b"), ("punct", "<="), ("name", "c")]),
        ("(人:名)", [("punct", "("), ("name", "人"), ("punct", ":"), ("name", "名"), ("punct", ")")]),
        ("“it’s” x", [("curly", "“it’s”"), ("name", "x")]),
        ("a\u3000b", [("name", "a"), ("name", "b")]),
        ("CRE\u200bATE", [("name", "CRE\u200bATE")]),
        (")CREATE", [("punct", ")"), ("name", "CREATE")]),
    ],
)  # fmt: skip
def test_tokens(text: str, tokens: list[tuple[str, str]]) -> None:
    assert cut(text) == tokens


@pytest.mark.parametrize(
    ("text", "what", "position"),
    [
        ("RETURN 'abc", "string", 7),
        ('RETURN "abc', "string", 7),
        ("RETURN `a", "backticked name", 7),
        ("RETURN 1 /* x", "comment", 9),
    ],
)
def test_what_is_not_closed_is_named_with_its_place(text: str, what: str, position: int) -> None:
    with pytest.raises(QueryRefused, match=what) as caught:
        tokenize(text)
    assert caught.value.position == position


@settings(max_examples=300, deadline=None)
@given(
    st.text(
        alphabet=st.one_of(
            st.sampled_from("()[]{}'\"`/*$.:|-<>=ab1 \n\\;人“”ＡÀ\u200b"), st.characters(codec="utf-8")
        ),
        max_size=80,
    )
)
def test_tokens_joined_are_the_text(text: str) -> None:
    try:
        tokens = tokenize(text)
    except QueryRefused:
        return
    assert "".join(token.text for token in tokens) == text
    position = 0
    for token in tokens:
        assert token.start == position
        position = token.end


@pytest.mark.parametrize(
    "word", ["create", "CREATE", "ＣＲＥＡＴＥ", "ｃｒｅａｔｅ", "CRE\u200bATE", "𝐂𝐑𝐄𝐀𝐓𝐄"]
)
def test_words_are_read_through_disguises(word: str) -> None:
    assert fold(word) == "CREATE"


def test_long_s_is_an_s() -> None:
    assert Token("name", "ſet", 0).word == "SET"


@pytest.mark.parametrize(
    ("text", "word", "role"),
    [
        ("MATCH (set) RETURN 1", "set", "operand"),
        ("MATCH (n:Set) RETURN 1", "Set", "label"),
        ("MATCH (n)-[:A|Set]->() RETURN 1", "Set", "label"),
        ("MATCH (n) RETURN n.set", "set", "property"),
        ("RETURN {set: 1}", "set", "key"),
        ("RETURN n {.set}", "set", "property"),
        ("RETURN n {set}", "set", "key"),
        ("RETURN [x IN l WHERE x:L | set]", "set", "operand"),
        ("RETURN $ set", "set", "operand"),
        ("RETURN 1 AS set", "set", "operand"),
        ("RETURN n SET", "SET", "clause"),
        ("MATCH (n)SET n.x = 1", "SET", "clause"),
        ("CALL { SET n.x = 1 }", "SET", "clause"),
        ("RETURN 1 UNION SET", "SET", "clause"),
        ("WITH n, case SET n.x = 1", "SET", "operand"),  # the rule on writes looks behind a CASE
        ("RETURN * SET n.x = 1", "SET", "clause"),
        ("RETURN 2 * set", "set", "operand"),
        ("CALL db.labels() YIELD - SET n.x = 1", "SET", "clause"),
        ("RETURN x IS NOT NULL SET n.x = 1", "SET", "clause"),
        ("RETURN x STARTS WITH set", "set", "operand"),
        ("RETURN x NOT in SET n.x = 1", "SET", "clause"),
        ("RETURN NOT set", "set", "operand"),
        ("RETURN DISTINCT set", "set", "operand"),
        ("RETURN call {set: 1}", "set", "key"),
        ("MATCH (n) RETURN n ORDER BY n.x DESC SET n.x = 1", "SET", "clause"),
        ("RETURN CASE WHEN a THEN b END SET n.x = 1", "SET", "clause"),
        ("FOREACH (x IN l | SET x.a = 1)", "SET", "clause"),
    ],
)
def test_a_words_role_is_that_of_its_place(text: str, word: str, role: str) -> None:
    assert roles(text)[word] == role


def test_brackets_know_their_partners_and_kinds() -> None:
    read = structure(
        "MATCH (n {a: [1]})-[r:R]->(m) CALL { RETURN size([x IN n.l | x]) AS s } RETURN n[0], n {.a}"
    )
    kinds = {read.tokens[i].start: kind for i, kind in read.kinds.items()}
    assert kinds == {6: "group", 9: "map", 13: "list", 19: "rel", 26: "group", 35: "block", 48: "call", 49: "list",
                     80: "subscript", 87: "map"}  # fmt: skip
    assert all(read.mates[read.mates[i]] == i for i in read.kinds)
    assert read.unbalanced == -1


@pytest.mark.parametrize(("text", "position"), [("RETURN (1", 7), ("RETURN 1)", 8), ("RETURN [1)", 9)])
def test_a_bracket_without_partner_is_found(text: str, position: int) -> None:
    read = structure(text)
    assert read.tokens[read.unbalanced].start == position


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["(", ")", "[", "]", "{", "}", "CASE", "END", "NOT", "-", "x", ".", ":", ",", "|", "SET", "CALL",
                                 "WITH", "UNION", "'s'", "1", "*", "AS", "WHERE", "IS", "NULL", "$", ";"]), max_size=40))  # fmt: skip
def test_any_tokens_are_read(words: list[str]) -> None:
    try:
        read = structure(" ".join(words))
    except QueryRefused:
        return  # nested too deep
    lists = [
        read.roles,
        read.mates,
        read.openers,
        read.clauses,
        read.parts,
        read.starts,
        read.cased,
        read.nesting,
        read.effort,
    ]
    assert {len(item) for item in lists} == {len(read.tokens)}
