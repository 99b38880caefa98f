"""Which language a text is in, cheaply: by script, then by frequent words.

The word lists are also the stop words of keyword search: words that nearly every text of the
language holds, question words included, and nothing that is often a topic.
"""

from __future__ import annotations

import re
from functools import cache

from graph_agent.text.folding import fold

UNDETERMINED = "und"

_LISTS = {
    "en": """a about above after again against all also am an and any are as at be because been before being below
        between both but by can could did do does doing down during each etc every for from further had has have
        having he her here hers herself him himself his how i if in into is it its itself just let me more most must
        my myself no nor not of off on once only or other our ours ourselves out over own same shall she should so
        some such than that the their theirs them themselves then there these they this those through to too under
        until up upon us very was we were what when where which while who whom whose why will with within would you
        your yours yourself""",
    "de": """aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim bin bis bist da
        damit dann das dass dein deine dem den denn der des dessen deren die dies diese diesem diesen dieser dieses
        doch dort du durch ein eine einem einen einer eines er es etwas euer für gegen hab habe haben hat hatte
        hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist jede jedem jeden
        jeder jedes jener kann kein keine können könnte man manche mein meine mich mir mit muss nach nicht nichts
        noch nun nur ob oder ohne sehr sein seine seinem seinen seiner sich sie sind so soll sollte sondern um und
        uns unser unter vom von vor wann war waren warum was weil welche welchem welchen welcher welches wenn wer
        werde werden weshalb wie wieder wieso wird wo wodurch woher wohin womit worden wurde wurden zu zum zur zwar
        zwischen über viele wieviel""",
    "fr": """a afin ai aient ainsi au aucun aussi autre aux avaient avait avant avec avoir ce ceci cela celle celles
        celui ces cet cette ceux chaque comment comme d dans de depuis des donc dont du elle elles en encore entre es
        est et était étaient être eu eux fait furent fut il ils j je l la le les leur leurs lors lui là m mais me
        même mes moi mon n ne ni nos notre nous on ont ou où par parce pas peut plus pour pourquoi qu quand que quel
        quelle quelles quels qui quoi s sa sans se selon sera ses si son sont sous sur t ta te tes toi ton tous tout
        toute toutes très tu un une vers vos votre vous y à été combien""",
    "es": """a al algo ante antes aquel aquella así aunque cada como con contra cual cuales cuando cuanto cuál cuáles
        cuándo cuánto cuántos cómo de del desde donde dónde dos durante e el ella ellas ellos en entre era eran eres
        es esa ese eso esta estaba están estas este esto estos está fue fueron ha haber había han hasta hay la las le
        les lo los me mi mientras muy más nada ni no nos nosotros o os otra otro para pero por porque que quien quién
        quienes qué se sea según ser si sido sin sobre son su sus sí también tanto te tiene tienen todo todos tu tus
        un una uno unos y ya yo él""",
    "it": """a ad agli ai al alla alle allo anche avere aveva c che chi ci ciò col come con cosa cui d da dagli dai
        dal dalla dalle dallo degli dei del della delle dello di dove due e ed era erano essere fra fu furono gli ha
        hanno i il in io l la le lei li lo loro lui ma mi mio ne negli nei nel nella nelle nello noi non nostro o
        ogni per perché più poi quale quali quando quanti quanto quella quelle quelli quello questa queste questi
        questo qui se sei si sia sono sta stata stati stato su sua sugli sui sul sulla sulle suo suoi tra tu tuo un
        una uno vi voi è""",
    "nl": """aan al alle als altijd ander andere ben bij daar dan dat de der deze die dit doch doen door dus een en er
        ge geen geweest had heb hebben heeft hem het hier hij hoe hoeveel hun iemand iets ik in is ja je kan kon
        kunnen maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat ons ook op over reeds te tegen
        toch toen tot u uit uw van veel voor waar waarom wanneer want waren was wat welk welke werd wezen wie wij
        wordt worden zal ze zelf zich zij zijn zo zonder zou""",
    "pt": """a ao aos aquela aquele aquilo as até com como cada da das de dela dele deles do dos e ela elas ele eles em
        entre era eram essa esse esta estas este estes está estão eu foi foram há isso isto já lhe mais mas me mesmo
        meu minha muito na nas nem no nos nossa nosso não num numa o onde os ou para pela pelas pelo pelos por porque
        qual quais quando quanto quantos que quem se seja sem ser será seu seus sobre sua suas são só também te tem
        tinha têm um uma você à às é""",
    "sv": """alla allt att av blev bli blir de dem den denna deras dess dessa det detta dig din dina du där då efter
        ej eller en er ett från för ha hade han hans har henne hennes hon honom hur här i icke inte jag kan kunde man
        med mellan men mig min mot mycket ni nu när någon något några och om oss på samma sedan sig sin sina ska
        skulle som så till under upp ut utan vad var vara varför varit vars vem vi vid vilka vilken vilket vår än är
        över""",
    "da": """af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din disse dog du efter
        eller en end er et for fra før ham han hans har havde hende her hun hvad hvem hvilken hvilke hvis hvor hvordan
        hvorfor hvornår i ikke ind ja jeg kan kunne man mange med meget men mig min mod ned noget nogle nu når og også
        om op os over på sig sin skal skulle som til ud under var ved vi vil ville være været""",
    "no": """alle at av ble bli blir da de dem den denne der deres det dette din disse du eller en enn er et etter for
        fra før ham han hans har hadde henne her hun hva hvem hvilken hvilke hvis hvor hvordan hvorfor i ikke ja jeg
        kan kunne man mange med meg mellom men mot mye ned noe noen nå når og også om opp oss over på seg sin skal
        skulle som så til ut under var ved vi vil ville være vært å""",
    "fi": """ei eivät en et että he heidän hän hänen ja jo joka jonka joissa jos jossa jota kanssa koska kuin kun kuka
        kuinka ketä me mikä miksi missä mitä mutta myös ne niin noin nyt näiden nämä olen oli olivat olla on ovat se
        sekä sen sillä siinä sitä tai tämä tämän vai vaan vain voi""",
    "pl": """a aby albo ale bardzo bez być był była było były ci co czy czyli dla do gdy gdzie go i ich ile im ja jak
        jaka jaki jakie jako je jego jej jest jestem jeszcze już kiedy kto która które którego której który których
        którzy lub ma mi mnie może można na nad nie niż o od on ona one oni oraz po pod przed przez przy są się tak
        także tam tego tej ten to tu tylko tym u w we wszystko z za ze że żeby""",
    "cs": """a aby ale ani ano až bez bude by byl byla bylo byly být co což do ho i jak jaká jaké jaký jako je jeho
        jejich její jen ještě již jsem jsme jsou k kde kdo kdy kdyz který která které mezi může na nad nebo není než
        o od po pod podle pro proto proč před při s se si své ta tak také tato tedy ten tento to tuto ty u v ve však
        z za ze že""",
    "hu": """a az azt be csak de e egy el ez ezt és fel ha hogy hol hogyan ide is itt ki kik le lesz meg mely melyek
        melyik mert mi miért mikor milyen minden mint most nagy nem nincs olyan pedig sem szerint vagy van vannak volt
        voltak""",
    "ro": """a acest această acestea aceste acolo ai al ale am ar are asupra au avea ca care cât câți ce cel cele cine
        cu cum că când de deci despre din dintre după ea ei el ele este eu fi fie fost iar în între la le lui mai nu
        o or pe pentru prin sa sau se sunt să și un una unde unei unor unui și""",
    "tr": """ama ancak bana bazı belki ben bir biz bu bunu bunun çok da daha de değil diye en gibi göre hangi hem her
        hiç için ile ise kadar kendi ki kim mı mi mu mü nasıl ne neden nerede niçin o olan olarak oldu olduğu olur
        onu onun sen siz şey şu tarafından tüm var ve veya ya yani yok zaman""",
    "id": """ada adalah agar akan antara apa atau bagaimana bagi bahwa banyak berapa bisa bukan dalam dan dapat dari
        dengan di dia hanya harus ini itu jika juga kami kapan karena ke ketika kita lebih mana mereka mengapa namun
        oleh pada para sangat satu saya sebagai sebuah secara sedang sehingga sejak seperti serta siapa sudah tahun
        tapi telah tentang tetapi tidak untuk yaitu yang""",
    "ru": """а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее
        если есть еще же за здесь и из или им их к каждый как какая какие какой когда кто ли либо между меня мне мы на
        над надо нас не него нее нет ни них но ну о об однако он она они оно от очень по под почему при про с свои
        свой себя со так также такой там те тем то того тоже той только том тот ты у уже чего чем что чтобы чье чья эта
        эти это этого этой этом этот я сколько""",
    "uk": """а або але без би був була були було бути в вам вас ви від він вона вони все всі де для до його її є же за
        з зі і із їх й коли кого ми на над не ні ну о ось по при про рік та так також там те ти тим то тобі той тому у
        усі хто це цей цього ця чи чому чого що щоб я як яка яке який які скільки""",
    "el": """αλλα αν απο αυτα αυτη αυτο αυτος για δεν εαν ειμαι ειναι εκεινη ενα ενω επι ετσι η ηταν θα και κατα κατι
        κι μα μας με μετα μη μια μου μπορει να ο οι οπου οπως οτι ουτε ποια ποιο ποιος που πως σαν σας σε στα στη στην
        στις στο στον στους συ τα τη την της τι τις το τον του τους των ως""",
    "ar": """في من على إلى عن مع هذا هذه ذلك تلك التي الذي الذين كان كانت يكون أن إن أو ثم قد لا ما لم لن هو هي هم كل بعد
        قبل بين حتى عند غير كما كيف متى أين لماذا هل منذ أي بعض و""",
    "he": """של על את זה לא הוא היא הם אני אל עם כי כל גם או אם אבל מה מי איך איפה למה מתי כמה יש אין היה היתה בין אשר
        זאת אלה כמו רק עד""",
    "hi": """का के की को में से है हैं और यह वह एक पर इस उस ने भी तो ही था थी थे कि जो या हो कर क्या कौन कब कहाँ कैसे क्यों कितने
        लिए साथ तक नहीं""",
}

_SCRIPTS = (
    (
        "ja",
        re.compile("[\u3040-\u30ff\uff66-\uff9f]"),
        3,
    ),  # kana count more: Japanese is mostly kanji in places
    ("zh", re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"), 2),
    ("ko", re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]"), 2),
    ("ar", re.compile("[\u0600-\u06ff\u0750-\u077f]"), 1),
    ("he", re.compile("[\u0590-\u05ff]"), 1),
    ("ru", re.compile("[\u0400-\u04ff]"), 1),
    ("el", re.compile("[\u0370-\u03ff]"), 1),
    ("hi", re.compile("[\u0900-\u097f]"), 1),
    ("th", re.compile("[\u0e00-\u0e7f]"), 1),
    ("ta", re.compile("[\u0b80-\u0bff]"), 1),
    ("hy", re.compile("[\u0530-\u058f]"), 1),
)
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
_WORDS = re.compile(r"[^\W\d_]+")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+", re.DOTALL)
_SAMPLE = 6_000


class _StopWords:
    """Folded stop words by ISO 639-1 code; an unknown language has none."""

    def __getitem__(self, language: str) -> frozenset[str]:
        return _stop_words(language)

    def __contains__(self, language: object) -> bool:
        return language in _LISTS

    def languages(self) -> tuple[str, ...]:
        """The languages that have a list."""
        return tuple(_LISTS)


STOP_WORDS = _StopWords()


@cache
def _stop_words(language: str) -> frozenset[str]:
    return frozenset(fold(_LISTS.get(language, "")).split())


@cache
def _by_word() -> dict[str, tuple[str, ...]]:
    """Which Latin-script languages use a word as a stop word."""
    table: dict[str, list[str]] = {}
    for language in _LISTS:
        if language in {"ru", "uk", "el", "ar", "he", "hi"}:
            continue
        for word in _stop_words(language):
            table.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in table.items()}


def detect_language(text: str) -> str:
    """ISO 639-1 code of the main language of a text, `und` when nothing speaks for one.

    The script decides where it can; among languages of the Latin script the one with the most
    frequent words found wins, a word shared by n languages counting 1/n. Code and links are left out.
    Looks at the first 6,000 characters only.
    """
    sample = _CODE.sub(" ", text[: 2 * _SAMPLE])[:_SAMPLE] or text[:_SAMPLE]
    latin = len(_LATIN.findall(sample)) if not sample.isascii() else 1
    if not sample.isascii():
        weights = {language: len(chars.findall(sample)) * weight for language, chars, weight in _SCRIPTS}
        if weights["ja"] and weights["zh"] and weights["ja"] * 4 > weights["zh"]:
            weights["zh"] = 0
            weights["ja"] *= 3
        best = max(weights, key=lambda language: weights[language])
        if weights[best] * 2 > latin:
            return "uk" if best == "ru" and re.search("[іїєґ]", sample) and "ы" not in sample else best
    return _latin_language(sample)


def _latin_language(sample: str) -> str:
    votes: dict[str, float] = {}
    table = _by_word()
    for word in _WORDS.findall(fold(sample)):
        languages = table.get(word, ())
        for language in languages:
            votes[language] = votes.get(language, 0.0) + 1.0 / len(languages)
    if not votes:
        return UNDETERMINED
    # English wins ties: it is what code, names and tables are written in
    return max(sorted(votes), key=lambda language: (votes[language], language == "en"))
