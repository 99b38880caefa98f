"""The few sentences that code, not a model, says in an answer, in the language of the question."""

from __future__ import annotations

from typing import Final

DEFAULT = "en"

_PHRASES: Final[dict[str, dict[str, str]]] = {
    "sources": {
        "en": "Sources:", "de": "Quellen:", "fr": "Sources :", "es": "Fuentes:", "it": "Fonti:", "nl": "Bronnen:",
        "pt": "Fontes:", "zh": "来源：", "ja": "出典：",
    },
    "absent": {
        "en": "This is not in the documents.",
        "de": "Das steht nicht in den Dokumenten.",
        "fr": "Cela ne figure pas dans les documents.",
        "es": "Esto no está en los documentos.",
        "it": "Questo non è nei documenti.",
        "nl": "Dit staat niet in de documenten.",
        "pt": "Isto não está nos documentos.",
        "zh": "文档中没有相关内容。",
        "ja": "文書にはありません。",
    },
    "searched": {
        "en": "Searched for:", "de": "Gesucht wurde nach:", "fr": "Recherché :", "es": "Se buscó:",
        "it": "Cercato:", "nl": "Gezocht naar:", "pt": "Procurado:", "zh": "搜索内容：", "ja": "検索語：",
    },
    "closest": {
        "en": "The closest passages, which do not answer it:",
        "de": "Die nächstliegenden Stellen, die es nicht beantworten:",
        "fr": "Les passages les plus proches, qui n'y répondent pas :",
        "es": "Los pasajes más cercanos, que no lo responden:",
        "it": "I passi più vicini, che non rispondono:",
        "nl": "De dichtstbijzijnde passages, die het niet beantwoorden:",
        "pt": "As passagens mais próximas, que não respondem:",
        "zh": "最接近但未能回答的段落：",
        "ja": "最も近いが答えになっていない箇所：",
    },
    "extracts": {
        "en": "Extracts from the documents (no chat model is configured; GRAPH_AGENT_MODEL names one):",
        "de": "Auszüge aus den Dokumenten (es ist kein Sprachmodell eingerichtet; GRAPH_AGENT_MODEL nennt eines):",
        "fr": "Extraits des documents (aucun modèle de langage n'est configuré ; GRAPH_AGENT_MODEL en nomme un) :",
        "es": "Extractos de los documentos (no hay ningún modelo de lenguaje configurado; GRAPH_AGENT_MODEL indica uno):",
        "it": "Estratti dai documenti (nessun modello linguistico configurato; GRAPH_AGENT_MODEL ne indica uno):",
        "nl": "Fragmenten uit de documenten (er is geen taalmodel ingesteld; GRAPH_AGENT_MODEL noemt er een):",
        "pt": "Extratos dos documentos (nenhum modelo de linguagem configurado; GRAPH_AGENT_MODEL indica um):",
        "zh": "文档摘录（未配置语言模型；用 GRAPH_AGENT_MODEL 指定）：",
        "ja": "文書からの抜粋（言語モデルは設定されていません。GRAPH_AGENT_MODEL で指定します）：",
    },
    "extracts_failed": {
        "en": "Extracts from the documents (the chat model did not give an answer):",
        "de": "Auszüge aus den Dokumenten (das Sprachmodell gab keine Antwort):",
        "fr": "Extraits des documents (le modèle de langage n'a pas répondu) :",
        "es": "Extractos de los documentos (el modelo de lenguaje no dio respuesta):",
        "it": "Estratti dai documenti (il modello linguistico non ha risposto):",
        "nl": "Fragmenten uit de documenten (het taalmodel gaf geen antwoord):",
        "pt": "Extratos dos documentos (o modelo de linguagem não respondeu):",
        "zh": "文档摘录（语言模型未给出回答）：",
        "ja": "文書からの抜粋（言語モデルは回答しませんでした）：",
    },
    "lacking": {
        "en": "Words of the question that stand in none of these passages:",
        "de": "Wörter der Frage, die in keiner dieser Stellen stehen:",
        "fr": "Mots de la question absents de tous ces passages :",
        "es": "Palabras de la pregunta que no están en ninguno de estos pasajes:",
        "it": "Parole della domanda assenti da tutti questi passi:",
        "nl": "Woorden uit de vraag die in geen van deze passages staan:",
        "pt": "Palavras da pergunta ausentes de todas estas passagens:",
        "zh": "这些段落中都没有出现的提问用词：",
        "ja": "これらの箇所のいずれにもない質問中の語：",
    },
    "other_years": {
        "en": "The passages found are about other years, not about", "de": "Die gefundenen Stellen handeln von anderen Jahren, nicht von",
        "fr": "Les passages trouvés portent sur d'autres années que", "es": "Los pasajes encontrados tratan de otros años, no de",
        "it": "I passi trovati riguardano altri anni, non il", "nl": "De gevonden passages gaan over andere jaren, niet over",
        "pt": "As passagens encontradas tratam de outros anos, não de", "zh": "找到的段落涉及其他年份，不涉及",
        "ja": "見つかった箇所は別の年についてのもので、次の年ではありません：",
    },
    "further": {
        "en": "Further passages:", "de": "Weitere Stellen:", "fr": "Autres passages :", "es": "Otros pasajes:",
        "it": "Altri passi:", "nl": "Verdere passages:", "pt": "Outras passagens:", "zh": "其他段落：", "ja": "その他の箇所：",
    },
    "unverified": {
        "en": "unverified", "de": "nicht belegt", "fr": "non vérifié", "es": "no verificado", "it": "non verificato",
        "nl": "niet geverifieerd", "pt": "não verificado", "zh": "未经证实", "ja": "未確認",
    },
    "no_rows": {
        "en": "The graph has no matching data.", "de": "Der Graph enthält keine passenden Daten.",
        "fr": "Le graphe ne contient aucune donnée correspondante.",
        "es": "El grafo no contiene datos que coincidan.", "it": "Il grafo non contiene dati corrispondenti.",
        "nl": "De graaf bevat geen passende gegevens.", "pt": "O grafo não contém dados correspondentes.",
        "zh": "图中没有匹配的数据。", "ja": "グラフに該当するデータはありません。",
    },
    "empty": {
        "en": "There is nothing here yet: no document has been ingested. Add some with: graph-agent ingest PATH",
        "de": "Hier ist noch nichts: es wurde kein Dokument eingelesen. Einlesen mit: graph-agent ingest PFAD",
        "fr": "Il n'y a encore rien ici : aucun document n'a été importé. Importer avec : graph-agent ingest CHEMIN",
        "es": "Aquí no hay nada todavía: no se ha incorporado ningún documento. Use: graph-agent ingest RUTA",
    },
    "unavailable": {
        "en": "The database is unavailable, so the question could not be looked up.",
        "de": "Die Datenbank ist nicht erreichbar; die Frage konnte nicht nachgeschlagen werden.",
        "fr": "La base de données est indisponible ; la question n'a pas pu être recherchée.",
        "es": "La base de datos no está disponible; no se pudo buscar la pregunta.",
    },
    "failed": {
        "en": "The question could not be looked up.",
        "de": "Die Frage konnte nicht nachgeschlagen werden.",
        "fr": "La question n'a pas pu être recherchée.",
        "es": "No se pudo buscar la pregunta.",
    },
    "hello": {
        "en": "Hello! Ask me about the documents here, and I will answer with citations.",
        "de": "Hallo! Fragen Sie mich nach den Dokumenten hier; ich antworte mit Belegen.",
        "fr": "Bonjour ! Posez-moi une question sur les documents ; je réponds avec des citations.",
        "es": "¡Hola! Pregúnteme sobre los documentos; respondo con citas.",
    },
    "hello_graph": {
        "en": "Hello! Ask me about what this graph holds.",
        "de": "Hallo! Fragen Sie mich nach dem, was dieser Graph enthält.",
        "fr": "Bonjour ! Posez-moi une question sur ce que contient ce graphe.",
        "es": "¡Hola! Pregúnteme sobre lo que contiene este grafo.",
    },
    "abilities": {
        "en": "I answer questions about the documents in this collection, with citations that open the exact passage: "
        "facts and figures, comparisons, which documents say something, how many there are, the outline of a document.",
        "de": "Ich beantworte Fragen zu den Dokumenten dieser Sammlung, mit Belegen, die die genaue Stelle öffnen: "
        "Tatsachen und Zahlen, Vergleiche, welche Dokumente etwas sagen, wie viele es gibt, die Gliederung eines Dokuments.",
    },
    "holds": {
        "en": "The collection holds", "de": "Die Sammlung enthält", "fr": "La collection contient",
        "es": "La colección contiene",
    },
    "documents": {"en": "documents", "de": "Dokumente", "fr": "documents", "es": "documentos"},
    "sections": {"en": "sections", "de": "Abschnitte", "fr": "sections", "es": "secciones"},
    "folders": {"en": "folders", "de": "Ordner", "fr": "dossiers", "es": "carpetas"},
    "document": {"en": "document", "de": "Dokument", "fr": "document", "es": "documento"},
    "section": {"en": "section", "de": "Abschnitt", "fr": "section", "es": "sección"},
    "folder": {"en": "folder", "de": "Ordner", "fr": "dossier", "es": "carpeta"},
    "more": {"en": "and {count} more", "de": "und {count} weitere", "fr": "et {count} autres", "es": "y {count} más"},
    "outline": {
        "en": "Outline of", "de": "Gliederung von", "fr": "Plan de", "es": "Esquema de",
    },
    "unreadable": {
        "en": "{count} file(s) could not be read (graph-agent status names them).",
        "de": "{count} Datei(en) konnten nicht gelesen werden (graph-agent status nennt sie).",
        "fr": "{count} fichier(s) illisible(s) (graph-agent status les nomme).",
        "es": "{count} archivo(s) no se pudieron leer (graph-agent status los nombra).",
    },
    "pending": {
        "en": "{count} % of the passages can be searched by meaning yet; all can be searched by words.",
        "de": "{count} % der Textstellen sind schon nach Bedeutung durchsuchbar; nach Wörtern sind es alle.",
        "fr": "{count} % des passages peuvent déjà être cherchés par le sens ; tous le sont par les mots.",
        "es": "El {count} % de los pasajes ya se puede buscar por significado; todos por palabras.",
    },
    "rows_cut": {
        "en": "{count} rows of the query's result are shown; there are more.",
        "de": "{count} Zeilen des Ergebnisses sind gezeigt; es gibt mehr.",
        "fr": "{count} lignes du résultat sont montrées ; il y en a d'autres.",
        "es": "Se muestran {count} filas del resultado; hay más.",
    },
    "partial": {
        "en": "Not everything was looked at:", "de": "Nicht alles wurde berücksichtigt:",
        "fr": "Tout n'a pas été pris en compte :", "es": "No se tuvo en cuenta todo:",
    },
}  # fmt: skip


def phrase(name: str, language: str) -> str:
    """A phrase in a language, in English when it is not there.

    Raises:
        KeyError: there is no phrase of that name.
    """
    known = _PHRASES[name]
    return known.get(language, known[DEFAULT])


def counted(number: int, name: str, language: str) -> str:
    """A number of documents, sections or folders in words: "1 document", "1,200 sections"; other names as they are."""
    ours = name in {"documents", "sections", "folders"}
    noun = phrase(name.removesuffix("s") if number == 1 else name, language) if ours else name
    return f"{number:,} {noun}"
