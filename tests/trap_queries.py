"""Harmless reading queries that look like writes or attacks, and the small graph that they read.

Each of them is valid openCypher that FalkorDB runs, changes nothing, and must be let through by the guard and answered
by graph_query. They were written from the language alone, without sight of the guard.
"""

GRAPH = (
    "CREATE "
    "(keanu:Person {name: 'Keanu Reeves', born: 1964, `set`: 'A', `delete`: false, `load csv`: 'never', "
    "merge: 'm1', create: 2, remove: [1, 2, 3], drop: 'none', call: 'yes', `foreach`: 1.5}), "
    "(carrie:Person {name: 'Carrie-Anne Moss', born: 1967, `set`: 'B', `delete`: true, `load csv`: 'once', "
    "merge: 'm2', create: 5, remove: [4], drop: 'all', call: 'no'}), "
    "(lana:Person:Director {name: 'Lana Wachowski', born: 1965, `set`: 'A', `delete`: false}), "
    "(emil:Person {name: 'Emil Eifrem', born: 1978, `set`: 'C', note: 'DROP TABLE; CREATE (n)'}), "
    "(matrix:Movie {title: 'The Matrix', released: 1999, tagline: 'Welcome to the Real World', "
    "`set`: 'studio', `détail`: 'é', votes: 1.9e6}), "
    "(reload:Movie {title: 'The Matrix Reloaded', released: 2003, tagline: 'Free your mind', votes: 6.1e5}), "
    "(create:Movie {title: 'CREATE (n) DELETE n', released: 2012, tagline: \"LOAD CSV FROM 'x'\", votes: 10}), "
    "(merge:Merge {name: 'Merged studios', `delete`: 3, `on create`: 'x', year: 1998}), "
    "(thing:`Create Thing` {name: 'thing', `set`: 1, `detach delete`: 'd'}), "
    "(other:`Create Thing`:`Drop; Table` {name: 'other', `set`: 2}), "
    "(ville:`Città` {`nom`: 'Zürich', `größe`: 7, name: 'Zürich'}), "
    "(city:`Δήμος` {name: 'Αθήνα', `日本`: 'x'}), "
    "(keanu)-[:ACTED_IN {roles: ['Neo'], `set`: 1}]->(matrix), "
    "(keanu)-[:ACTED_IN {roles: ['Neo'], `set`: 2}]->(reload), "
    "(carrie)-[:ACTED_IN {roles: ['Trinity'], `set`: 3}]->(matrix), "
    "(carrie)-[:ACTED_IN {roles: ['Trinity'], `set`: 4}]->(reload), "
    "(emil)-[:ACTED_IN {roles: ['Emil', \"DELETE's\"]}]->(matrix), "
    "(lana)-[:DIRECTED]->(matrix), (lana)-[:DIRECTED]->(reload), "
    "(merge)-[:CREATE {since: 1998}]->(matrix), (merge)-[:MERGE]->(reload), (merge)-[:`SET UP`]->(create), "
    "(thing)-[:DELETES]->(other), (other)-[:`DETACH DELETE`]->(thing), (thing)-[:REMOVE]->(merge), "
    "(keanu)-[:KNOWS {drop: 1}]->(carrie), (carrie)-[:KNOWS]->(lana), (lana)-[:KNOWS]->(emil), "
    "(keanu)-[:`LIVES_ÎN`]->(ville), (emil)-[:LIVES_IN]->(city)"
)

INDEXES = (
    "CREATE INDEX FOR (n:Movie) ON (n.released)",
    "CALL db.idx.fulltext.createNodeIndex('Movie', 'title', 'tagline')",
    "CALL db.idx.fulltext.createNodeIndex('Merge', 'name')",
)

Trap = tuple[str, dict[str, object]]


def _plain(*queries: str) -> list[Trap]:
    return [(query, {}) for query in queries]


SINGLE_QUOTED = _plain(
    "RETURN 'CREATE (n)' AS text",
    "RETURN 'it\\'s a MERGE (n) here' AS text",
    "RETURN 'a \\\\' + ' DELETE n' AS text",
    "RETURN 'SET n.x = 1', 'REMOVE n.x', 'DROP INDEX', \"DETACH DELETE n\"",
    "MATCH (m:Movie) WHERE m.title = 'CREATE (n) DELETE n' RETURN m.title",
    "MATCH (m:Movie) WHERE m.title STARTS WITH 'CREATE ' RETURN m.title AS t",
    "MATCH (m:Movie) WHERE m.title ENDS WITH ' DELETE n' RETURN m.title AS t",
    "MATCH (m:Movie) WHERE m.title CONTAINS ') DELETE' RETURN count(m) AS n",
    "MATCH (p:Person) WHERE p.note CONTAINS '; CREATE (' RETURN p.name",
    "RETURN '/* CREATE (n) */ not a comment' AS text",
    "RETURN '// SET n.x = 1' AS text",
    "RETURN 'a \" b' + \"c ' d\" AS mixed, 'MERGE' AS word",
    "RETURN 'first line\nCREATE (n)\nlast line' AS text",
    "RETURN '`' AS tick, 'DELETE `' AS other",
    "RETURN 'CALL dbms.procedures()' AS text",
    "RETURN 'MATCH (n) DETACH DELETE n; DROP' AS text",
    "RETURN '' + 'SET' + '' AS text",
    "RETURN '\\n SET \\t' AS text",
    "RETURN '\\u0043REATE' AS text",
)

DOUBLE_QUOTED = _plain(
    'RETURN "MERGE (n:X) SET n.y = 2" AS text',
    'RETURN "say \\"CREATE (n)\\" aloud" AS text',
    'RETURN "back \\\\" + "DELETE" AS text',
    "MATCH (m:Movie) WHERE m.tagline = \"LOAD CSV FROM 'x'\" RETURN m.title",
    'MATCH (m:Movie) WHERE m.tagline CONTAINS "LOAD CSV" RETURN m.title ORDER BY m.title',
    'MATCH (p:Person) WHERE p.note STARTS WITH "DROP TABLE;" RETURN p.name',
    'MATCH ()-[r:ACTED_IN]->() WHERE "DELETE\'s" IN r.roles RETURN count(r) AS n',
    'RETURN "a; b; CREATE (c); d" AS text',
    'RETURN "*/ DELETE /*" AS text',
    'RETURN "it\'s // not a REMOVE" AS text',
    'RETURN ["CREATE", "MERGE", "SET", "DELETE", "REMOVE", "DROP", "FOREACH"] AS words',
    'UNWIND ["CREATE", "SET"] AS word RETURN toLower(word) AS lower',
    'RETURN replace("CREATE (n)", "CREATE", "MATCH") AS text',
    'RETURN split("SET,DELETE,CALL", ",") AS parts',
    'RETURN "grüße an MERGE – “SET” – 日本 DELETE" AS text',
)

COMMENTS = _plain(
    "// CREATE (n)\nMATCH (n:Person) RETURN count(n) AS n",
    "/* MERGE (n) */ MATCH (n:Person) RETURN count(n) AS n",
    "MATCH (n:Person) /* SET n.x = 1 */ RETURN n.name ORDER BY n.name",
    "MATCH (n:Person) // DELETE n\nRETURN n.name ORDER BY n.name",
    "MATCH (n:Person) RETURN n.name // DETACH DELETE n",
    "MATCH (n:Person) RETURN n.name /* DROP INDEX */",
    "MATCH /* a 'quote */ (n:Person) /* another ' */ RETURN count(n) AS n",
    "MATCH (n:Person) // it's CREATE\nRETURN count(n) AS n",
    "MATCH (n:Person) /* // */ RETURN count(n) AS n // CALL dbms.procedures()",
    "/* several\n lines with\n LOAD CSV FROM 'x' AS l\n*/\nMATCH (n:Movie)\nRETURN count(n) AS n",
    "MATCH (n:Movie) /* ** / CREATE */ RETURN count(n) AS n",
    "//\nMATCH (n:Movie)\n//SET\nRETURN n.title\n//MERGE\nORDER BY n.title\n// REMOVE\nLIMIT 2",
    "MATCH (n:Movie)/**/RETURN/**/count(n)/* CREATE */AS/**/n",
    "/**/MATCH (n:Movie) RETURN count(n) AS total",
    "MATCH (n:/* a label */Merge)-[:/**/CREATE]->(m) RETURN m.title",
    "RETURN {/* a key */set: 1, /**/delete: 2} AS m",
    "MATCH (n:Person) WHERE n.name IN/**/['SET'] OR n./**/delete RETURN/**/n.name",
    "WITH 1 AS/**/set RETURN/**/set",
    "// 1\n// 2 MERGE (x)\n/* 3 */ // 4 SET\nRETURN 1 AS one",
    "MATCH (n:Movie) // unclosed \" and ' and ` CREATE\nRETURN n.title AS title ORDER BY title",
)

BACKTICKS = _plain(
    "MATCH (n:`Create Thing`) RETURN n.name ORDER BY n.name",
    "MATCH (n:`Merge`) RETURN n.name",
    "MATCH (n:`Create Thing`:`Drop; Table`) RETURN n.name",
    "MATCH (n:Person) RETURN n.`set` AS `SET` ORDER BY `SET`",
    "MATCH (n:Person) RETURN n.`load csv` AS `LOAD CSV`",
    "MATCH (n:Person) RETURN n.`delete` AS `DETACH DELETE n`",
    "MATCH (`delete`:Person) RETURN `delete`.name ORDER BY `delete`.name LIMIT 1",
    "MATCH (`create (n)`:Movie) RETURN `create (n)`.title AS `merge (m)`",
    "MATCH ()-[r:`SET UP`]->(m) RETURN m.title",
    "MATCH ()-[r:`DETACH DELETE`]->(m) RETURN m.name",
    "MATCH ()-[`remove`:`CREATE`]->(m) RETURN m.title, `remove`.since",
    "MATCH (n:`Create Thing`) RETURN n.`detach delete` AS x ORDER BY n.`set`",
    "MATCH (n:`Merge`) RETURN n.`on create` AS `ON CREATE SET`",
    "MATCH (n:Person) WITH n.name AS `MERGE` RETURN `MERGE` ORDER BY `MERGE` DESC",
    "RETURN 1 AS `// not a comment`",
    "RETURN 1 AS `/* neither */`",
    'RETURN 1 AS `it\'s`, 2 AS `a "b" SET c`',
    "MATCH (n:`Create Thing` {`set`: 1}) RETURN n.name",
    "UNWIND [1, 2] AS `unwind` RETURN `unwind` AS `return`",
    "RETURN {`create (n)`: 1, `set`: 2} AS m",
)

PROPERTY_NAMES = _plain(
    "MATCH (n:Person) RETURN n.set AS s ORDER BY s",
    "MATCH (n:Person) RETURN n.delete AS d, n.merge AS m, n.create AS c, n.remove AS r, n.drop AS x, n.call AS y",
    "MATCH (n:Person) WHERE n.create > 1 RETURN n.name",
    "MATCH (n:Person) WHERE n.delete RETURN n.name",
    "MATCH (n:Person) WHERE NOT n.delete AND n.set = 'A' RETURN n.name ORDER BY n.name",
    "MATCH (n:Person) RETURN n . set AS s",
    "MATCH (n:Person) RETURN n.\nset AS s",
    "MATCH (n:Person) RETURN n./* x */create AS s",
    "MATCH (n:Person) RETURN n.SET AS s, n.Delete AS d",
    "MATCH ()-[r:KNOWS]->() RETURN r.drop AS d ORDER BY r.drop",
    "MATCH (n:Person) WHERE size(n.remove) > 1 RETURN n.remove[0] AS first, n.remove[-1] AS last",
    "MATCH (n:Person) WITH n ORDER BY n.set, n.create RETURN collect(n.set) AS sets",
    "MATCH (n:Merge) WHERE n.delete = 3 RETURN n.delete + 1 AS d",
    "MATCH (n:Person) WHERE n.foreach IS NOT NULL RETURN n.foreach AS f",
    "MATCH (n:Person {set: 'A'}) RETURN n.name ORDER BY n.name",
    "MATCH (n:Person {set: 'A', delete: false}) RETURN count(n) AS n",
    "MATCH (:Person)-[r:ACTED_IN {set: 1}]->(m) RETURN m.title",
)

MAPS = _plain(
    "RETURN {create: 1, merge: 2, set: 3, delete: 4, remove: 5, drop: 6, call: 7} AS m",
    "WITH {set: {delete: {create: [1, 2, {merge: 'x'}]}}} AS m RETURN m.set.delete.create[2].merge AS x",
    "RETURN {set: 'SET n.x = 1', detach: 'DELETE'} AS m",
    "RETURN keys({set: 1, delete: 2}) AS k",
    "WITH {delete: 1} AS m RETURN m.delete AS d, m['delete'] AS e",
    "MATCH (n:Person) RETURN n {.name, .set} AS person ORDER BY n.name",
    "MATCH (n:Person) RETURN n {.name, .delete, .create} AS person ORDER BY n.name LIMIT 2",
    "MATCH (n:Person) RETURN n {.*, set: 1, remove: 'no'} AS person ORDER BY n.name LIMIT 2",
    "MATCH (n:Person) RETURN {create: n.create, drop: n.drop} AS m ORDER BY n.name",
    "RETURN [{set: 1}, {set: 2}] AS maps, size([{create: []}]) AS n",
    "UNWIND [{set: 1, delete: 'a'}, {set: 2, delete: 'b'}] AS row RETURN row.set AS s, row.delete AS d",
    "RETURN {load: 'csv', from: 'x', `load csv`: 1} AS m",
)

LABELS_AND_TYPES = _plain(
    "MATCH (n:Merge) RETURN n.name",
    "MATCH (m:Merge)-[:CREATE]->(x:Movie) RETURN x.title",
    "MATCH (m:Merge)-[r:MERGE]->(x) RETURN type(r) AS t, x.title",
    "MATCH (m:Merge)-[r:CREATE|MERGE]->(x) RETURN type(r) AS t, x.title ORDER BY x.title",
    "MATCH (a)-[:DELETES]->(b) RETURN a.name, b.name",
    "MATCH (a)-[:REMOVE]->(b:Merge) RETURN a.name, b.name",
    "MATCH (a)<-[:CREATE]-(b) RETURN a.title, b.name",
    "MATCH (a)-[:REMOVE]-(b) RETURN count(*) AS n",
    "MATCH (n) WHERE n:Merge RETURN n.name",
    "MATCH (n) WHERE n:Merge OR n:`Create Thing` RETURN n.name ORDER BY n.name",
    "MATCH (n) WHERE NOT n:Merge RETURN count(n) AS n",
    "MATCH (:Merge)-[r]->(x) WHERE type(r) = 'CREATE' RETURN x.title",
    "MATCH (:Merge)-[r]->(x) WHERE type(r) IN ['CREATE', 'SET UP'] RETURN count(x) AS n",
    "MATCH (n:Delete) RETURN count(n) AS n",
    "MATCH (n:Set) RETURN n",
    "MATCH (n: Merge) RETURN n.name",
    "MATCH (n :Merge {delete: 3}) RETURN n.year",
    "MATCH (n:Create)-[:SET]->(m:Remove) RETURN n, m",
    "OPTIONAL MATCH (n:Drop) RETURN n",
    "MATCH (a)-[:CREATE*1..2]->(b) RETURN count(b) AS n",
    "MATCH (n) WHERE 'Merge' IN labels(n) RETURN labels(n) AS l",
    "MATCH (n) UNWIND labels(n) AS label RETURN label, count(*) AS n ORDER BY label",
)

VARIABLES = _plain(
    "MATCH (created:Person) RETURN created.name ORDER BY created.name",
    "MATCH (setting:Movie), (merged:Merge) RETURN count(*) AS n",
    "MATCH (deleted)-[removed:DELETES]->(dropped) RETURN deleted.name, type(removed) AS t, dropped.name",
    "WITH 1 AS creates, 2 AS sets RETURN creates + sets AS total",
    "UNWIND [1, 2, 3] AS caller WITH caller WHERE caller > 1 RETURN caller",
    "MATCH (createme:Movie) WITH createme AS mergeme RETURN mergeme.title ORDER BY mergeme.title",
    "MATCH (n:Movie) WITH n AS offset_ RETURN offset_.title ORDER BY offset_.title",
    "MATCH (_create:Movie) RETURN count(_create) AS _set",
    "MATCH (create1:Movie) RETURN count(create1) AS set2",
    "MATCH (n:Movie) RETURN n.released AS creation ORDER BY creation DESC",
    "MATCH (n:Movie) RETURN count(n) AS deleted_count",
    "MATCH (n:Person) WITH n.set AS dataset, count(*) AS n RETURN dataset, n ORDER BY dataset",
    "MATCH (SetOf:Person) RETURN count(SetOf) AS n",
    "WITH true AS case, 1 AS call, 2 AS set RETURN CASE WHEN case THEN call ELSE set END AS x",
    "WITH true AS case, 1 AS delete RETURN CASE WHEN true THEN case ELSE delete END AS x",
    "WITH 1 AS distinct, 1 AS create RETURN CASE distinct WHEN create THEN distinct END AS x",
    "WITH 'a' AS distinct, 'b' AS set RETURN 'a' STARTS WITH distinct AND NOT set = 'a' AS x",
    "WITH 1 AS delete, 1 AS create RETURN (CASE delete WHEN create THEN delete END) AS x",
    "UNWIND [true] AS not RETURN [1, 2][0..] AS delete",
    "WITH 1 AS case UNWIND [case] AS set RETURN set AS case",
    "WITH true AS case RETURN NOT case AS remove",
    "WITH 1 AS then, 1 AS case RETURN CASE then WHEN case THEN then ELSE case END AS x",
    "MATCH (n:Person) WITH collect(n.name) AS names UNWIND names AS removed RETURN removed ORDER BY removed",
)

PARAMETERS: list[Trap] = [
    ("RETURN $create AS c", {"create": "CREATE (n)"}),
    ("RETURN $set AS s, $delete AS d", {"set": 1, "delete": [1, 2]}),
    ("MATCH (n:Person) WHERE n.name = $merge RETURN n.born", {"merge": "Keanu Reeves"}),
    ("MATCH (n:Person {set: $set}) RETURN n.name ORDER BY n.name", {"set": "A"}),
    ("MATCH (n:Movie) WHERE n.title CONTAINS $text RETURN n.title", {"text": "') DETACH DELETE n //"}),
    ("MATCH (n:Movie) WHERE n.title = $text RETURN n.title", {"text": "CREATE (n) DELETE n"}),
    ("MATCH (n:Movie) WHERE n.released IN $years RETURN n.title ORDER BY n.title", {"years": [1999, 2003]}),
    ("UNWIND $rows AS row RETURN row.set AS s", {"rows": [{"set": 1}, {"set": 2}]}),
    ("RETURN $map.delete AS d", {"map": {"delete": "x"}}),
    ("MATCH (n:Movie) RETURN n.title ORDER BY n.title SKIP $skip LIMIT $limit", {"skip": 1, "limit": 2}),
    ("RETURN $remove IS NULL AS empty", {"remove": None}),
    ("RETURN $text AS text", {"text": "quote ' and \" and \\ and ` and\nline; SET"}),
    ("RETURN size($list) AS n, $flag AS flag", {"list": ["DROP", "CALL"], "flag": True}),
    (
        "MATCH (n:Person) WHERE n.born > $from AND n.born < $to RETURN count(n) AS n",
        {"from": 1960, "to": 1970},
    ),
]

LISTS_AND_CASE = _plain(
    "RETURN [x IN range(1, 5) WHERE x % 2 = 1 | x * x] AS odd",
    "RETURN [x IN ['SET', 'CREATE'] | toLower(x)] AS words",
    "RETURN [word IN ['a', 'b'] WHERE word <> 'DELETE'] AS words",
    "MATCH (n:Person) RETURN [k IN keys(n) WHERE k IN ['set', 'delete']] AS k ORDER BY n.name",
    "RETURN reduce(total = 0, x IN [1, 2, 3] | total + x) AS total",
    "RETURN reduce(text = '', word IN ['SET', 'DROP'] | text + word) AS text",
    "MATCH (n:Person) WITH collect(n.born) AS years RETURN reduce(acc = 0, y IN years | acc + y) AS sum_of_years",
    "RETURN any(x IN ['CREATE'] WHERE x = 'CREATE') AS a, all(x IN [1] WHERE x > 0) AS b",
    "RETURN none(x IN ['SET'] WHERE x = 'set') AS n, single(x IN [1, 2] WHERE x = 1) AS s",
    "MATCH (n:Person) RETURN CASE n.set WHEN 'A' THEN 'CREATE' WHEN 'B' THEN 'DELETE' ELSE 'SET' END AS w ORDER BY w",
    "MATCH (n:Person) RETURN n.name, CASE WHEN n.delete THEN 'deleted' ELSE 'kept' END AS state ORDER BY n.name",
    "RETURN CASE WHEN true THEN {set: 1} ELSE {delete: 2} END AS m",
    "RETURN CASE 'SET' WHEN 'SET' THEN CASE WHEN 1 = 1 THEN 'MERGE' ELSE 'x' END ELSE 'y' END AS deep",
    "MATCH (n:Movie) RETURN [n.title, n.released, [n.votes, [n.tagline]]] AS nested ORDER BY n.title",
    "RETURN [1, 2, 3][0..2] AS part, [1, 2, 3][-1] AS last, [1, 2, 3][1..] AS rest",
    "RETURN [x IN [[1, 2], [3]] | [y IN x | y + 1]] AS nested",
    "MATCH (n:Merge) RETURN [(n)-[:CREATE]->(m) | m.title] AS titles",
    "MATCH (n:Person) RETURN n.name, [(n)-[r:ACTED_IN]->(m) WHERE m.released > 2000 | m.title] AS t ORDER BY n.name",
    "RETURN coalesce(null, 'SET', 'DELETE') AS c",
)

UNIONS_AND_SUBQUERIES = _plain(
    "MATCH (n:Person) RETURN n.name AS name UNION MATCH (n:Merge) RETURN n.name AS name",
    "MATCH (n:Merge) RETURN n.name AS name UNION ALL MATCH (n:`Create Thing`) RETURN n.name AS name",
    "RETURN 'CREATE' AS w UNION RETURN 'SET' AS w UNION RETURN 'DELETE' AS w",
    "CALL { MATCH (n:Person) RETURN count(n) AS people } RETURN people",
    "MATCH (m:Movie) CALL { WITH m MATCH (p:Person)-[:ACTED_IN]->(m) RETURN count(p) AS n } RETURN m.title, n",
    "CALL { MATCH (n:Merge) RETURN n.name AS x UNION MATCH (n:Movie) RETURN n.title AS x } RETURN x ORDER BY x",
    "CALL { RETURN 'CREATE (n)' AS text } RETURN text",
    "MATCH (n:Person) CALL { WITH n RETURN n.set AS s } RETURN n.name, s ORDER BY n.name",
    "CALL\n{\n  MATCH (n:Movie) // SET\n  RETURN max(n.released) AS newest\n}\nRETURN newest",
    "call { match (n:Movie) return min(n.released) as oldest } return oldest",
    "CALL { MATCH (n:Person) RETURN n ORDER BY n.born LIMIT 1 } RETURN n.name",
)

PROCEDURES = _plain(
    "CALL db.labels()",
    "CALL db.labels() YIELD label RETURN label ORDER BY label",
    "CALL db.relationshipTypes() YIELD relationshipType RETURN relationshipType ORDER BY relationshipType",
    "CALL db.relationshipTypes()",
    "CALL db.propertyKeys() YIELD propertyKey RETURN count(propertyKey) AS n",
    "CALL db.propertyKeys() YIELD propertyKey AS k WITH k WHERE k STARTS WITH 'set' RETURN k",
    "call db.labels() yield label as l where l = 'Merge' return l",
    "CALL db.idx.fulltext.queryNodes('Movie', 'matrix') YIELD node RETURN node.title ORDER BY node.title",
    "CALL db.idx.fulltext.queryNodes('Movie', 'matrix') YIELD node, score RETURN node.title AS t, score ORDER BY score",
    "CALL db.idx.fulltext.queryNodes('Merge', 'merged') YIELD node AS n RETURN n.name",
    "CALL db.idx.fulltext.queryNodes('Movie', 'delete') YIELD node MATCH (node)<-[r:`SET UP`]-(m) RETURN m.name",
    "CALL db.indexes() YIELD label, properties RETURN label, properties ORDER BY label",
    "CALL  db . labels ( ) YIELD label RETURN count(label) AS n",
    "CALL `db.labels`() YIELD label RETURN count(label) AS n",
    "MATCH (n:Merge) CALL db.labels() YIELD label RETURN n.name, count(label) AS n",
    "CALL db.labels() YIELD label CALL db.relationshipTypes() YIELD relationshipType RETURN count(*) AS n",
)

UNICODE_AND_SPACE: list[Trap] = _plain(
    "MATCH (v:`Città`) RETURN v.`größe` AS `größe`",
    "MATCH (n:`Δήμος`) RETURN n.name AS `όνομα`",
    "MATCH (n:`Δήμος`) RETURN n.`日本` AS `日本`",
    "MATCH (v:Città) RETURN v.größe AS g",
    "MATCH (p)-[:`LIVES_ÎN`]->(v) RETURN p.name, v.nom",
    "MATCH (n {name: 'Αθήνα'}) RETURN n.name",
    "MATCH (m:Movie) WHERE m.`détail` = 'é' RETURN m.title",
    "RETURN '🙂 DELETE 🙂' AS smile",
    "RETURN 1 AS `🙂`",
    "  \t\n MATCH\t(n:Merge)\r\n RETURN\tn.name\r\n",
    "MATCH\n\n(\n n\n :\n Merge\n)\n\nRETURN\n\nn\n.\nname",
    "mAtCh (n:Merge) wHeRe n.year >= 1998 rEtUrN n.name As Name oRdEr By Name sKiP 0 lImIt 1",
    "MATCH(n:Merge)RETURN(n.name)AS x",
    "MATCH (n:Movie)RETURN n.title AS t ORDER BY t",
    "\n\n\nRETURN 1 AS one\n\n\n",
    "RETURN 'non\u00a0breaking DELETE' AS text",
)

SEMICOLONS = _plain(
    "MATCH (n:Person) RETURN count(n) AS n;",
    "MATCH (n:Person) RETURN count(n) AS n ;\n",
    "RETURN 'a;b' AS text;",
    "RETURN 1 AS one; // CREATE (n)",
    "RETURN 1 AS one; /* DELETE n */",
    "CALL db.labels();",
    "MATCH (n:`Drop; Table`) RETURN n.name;",
)

PATTERNS = _plain(
    "MATCH (p:Person) WHERE (p)-[:ACTED_IN]->(:Movie) RETURN p.name ORDER BY p.name",
    "MATCH (p:Person) WHERE NOT (p)-[:ACTED_IN]->() RETURN p.name",
    "MATCH (n) WHERE (n)-[:CREATE]->() RETURN n.name",
    "MATCH (n) WHERE NOT (n)-[:DELETES]->() AND n:`Create Thing` RETURN n.name",
    "MATCH (n:Movie) WHERE exists(n.set) RETURN n.title",
    "MATCH (n:Movie) WHERE EXISTS((n)<-[:CREATE]-()) RETURN n.title",
    "MATCH (a:Person {name: 'Keanu Reeves'}), (b:Person {name: 'Emil Eifrem'}) "
    "WITH a, b RETURN length(shortestPath((a)-[:KNOWS*]->(b))) AS hops",
    "MATCH (a:Person {name: 'Keanu Reeves'}), (b:Person {name: 'Lana Wachowski'}) "
    "WITH shortestPath((a)-[:KNOWS*1..4]->(b)) AS p RETURN [n IN nodes(p) | n.name] AS names",
    "MATCH p = (a:Person)-[:KNOWS*1..3]->(b:Person) RETURN length(p) AS n, a.name, b.name ORDER BY n, a.name, b.name",
    "MATCH p = (:Merge)-[:CREATE]->(:Movie) RETURN [r IN relationships(p) | type(r)] AS types",
    "MATCH (a)-->(b)<--(c) WHERE a:Merge RETURN count(*) AS n",
    "MATCH (a:Merge)--(b) RETURN count(DISTINCT b) AS n",
    "MATCH (a:Person)-[:ACTED_IN]->(m)<-[:DIRECTED]-(d:Director) RETURN a.name, m.title, d.name ORDER BY a.name, m.title",
    "MATCH (a:Person) OPTIONAL MATCH (a)-[r:DIRECTED]->(m) RETURN a.name, m.title ORDER BY a.name, m.title",
    "MATCH (a:Person) MATCH (a)-[:KNOWS]->(b) WITH b MATCH (b)-[:ACTED_IN]->(m:Movie) RETURN b.name, m.title",
    "MATCH (n:Merge)-[r]->(m) RETURN properties(r) AS p, startNode(r).name AS s, endNode(r).title AS e ORDER BY e",
    "MATCH (a)-[r:KNOWS*0..1]->(b:Person) RETURN count(*) AS n",
    "MATCH (a:Person)-[:ACTED_IN]->(m:Movie)<-[:ACTED_IN]-(b:Person) WHERE a.name < b.name RETURN a.name, b.name, m.title",
)

NUMBERS_AND_ORDER = _plain(
    "RETURN 1e3 AS a, 1.5E-3 AS b, -2e+2 AS c",
    "MATCH (m:Movie) WHERE m.votes > 1e5 RETURN m.title ORDER BY m.votes DESC",
    "MATCH (m:Movie) WHERE m.votes >= .5e1 RETURN m.title ORDER BY m.title",
    "RETURN 0x1F AS hex, 017 AS octal",
    "RETURN range(10, 0, -2) AS down",
    "UNWIND range(5, 1, -1) AS i RETURN i",
    "RETURN -1 - -2 AS n, 2 ^ 3 AS p, 7 % 3 AS r, 1 + 2 * 3 / 4 AS x",
    "RETURN ((((((1)))))) AS one",
    "RETURN (1 + (2 * (3 - (4 / (5 + 6))))) AS x",
    "MATCH (m:Movie) WHERE ((m.released > 1990) AND ((m.released < 2005) OR (m.votes = 10))) RETURN m.title ORDER BY m.title",
    "MATCH (m:Movie) RETURN m.title ORDER BY m.released DESC, m.title ASC SKIP 1 LIMIT 1",
    "MATCH (m:Movie) RETURN m.title AS t ORDER BY t DESCENDING LIMIT 2",
    "MATCH (m:Movie) WITH m ORDER BY m.released LIMIT 2 RETURN collect(m.title) AS t",
    "MATCH (m:Movie) RETURN DISTINCT m.released / 100 AS century, count(*) AS n ORDER BY century",
    "MATCH (p:Person) RETURN avg(p.born) AS a, min(p.born) AS b, max(p.born) AS c, sum(p.create) AS d, stDev(p.born) AS e",
    "MATCH (p:Person) WHERE 1960 < p.born < 1970 RETURN p.name ORDER BY p.name",
    "MATCH (p:Person) WHERE p.born <> 1964 XOR p.set = 'A' RETURN p.name ORDER BY p.name",
    "MATCH (p:Person) WHERE p.name =~ '.*(CREATE|Reeves).*' RETURN p.name",
    "MATCH (p:Person) RETURN toUpper(substring(p.name, 0, 3)) AS s, toString(p.born) AS b ORDER BY s",
    "MATCH (p:Person) WITH p.set AS s, collect(p.name) AS names, count(*) AS n WHERE n > 1 RETURN s, names, n",
)

TRAPS: dict[str, list[Trap]] = {
    "single-quoted": SINGLE_QUOTED,
    "double-quoted": DOUBLE_QUOTED,
    "comment": COMMENTS,
    "backtick": BACKTICKS,
    "property": PROPERTY_NAMES,
    "map": MAPS,
    "label-or-type": LABELS_AND_TYPES,
    "variable": VARIABLES,
    "parameter": PARAMETERS,
    "list-or-case": LISTS_AND_CASE,
    "union-or-subquery": UNIONS_AND_SUBQUERIES,
    "procedure": PROCEDURES,
    "unicode-or-space": UNICODE_AND_SPACE,
    "semicolon": SEMICOLONS,
    "pattern": PATTERNS,
    "number-or-order": NUMBERS_AND_ORDER,
}


def traps() -> list[tuple[str, str, dict[str, object]]]:
    """Each query once, with the name of its kind and its number."""
    return [
        (f"{kind}-{number}", query, parameters)
        for kind, queries in TRAPS.items()
        for number, (query, parameters) in enumerate(queries, 1)
    ]
