"""The small words by which replies tie people to tasks, in English and Spanish, without accents.

A task and a person belong together where nothing but these stands between them. Whatever is not listed ties
nothing: a reply in other words is unread, not misread.
"""

from __future__ import annotations

import re
from typing import Final

PERSON: Final = "[\ue000-\ue0fe]"
TASK: Final = "[\ue100-\ue2ff]"
NUMBERED: Final = "[\ue100-\ue1ff]"
TOLD: Final = "[\ue200-\ue2ff]"
"""Marks that stand for a person, and for a task by its number or by its text, in a line that has been marked."""
FIRST_PERSON: Final = 0xE000
FIRST_NUMBERED: Final = 0xE100
FIRST_TOLD: Final = 0xE200
PLACE: Final = 0xFF
"""The part of a mark that is the place of the person or the task."""
PRIVATE: Final = re.compile("[\ue000-\uf8ff]")


def _either(words: str) -> str:
    """A pattern for any of these words."""
    return rf"\b(?:{'|'.join(words.split())})\b"


def words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MARKS: Final = r"[\s:=→>|,\"'()\[\]~#-]"
_TO_PEOPLE: Final = (
    r"is are was be been being will'? would should could can must shall I we i'd i'll d ll goes go going to for by"
    r" with of as on at the task job role this that it has have had done handled performed led managed taken"
    r" carried out assigned assign assigns assignee given give giving allotted allocated entrusted delegated falls"
    r" belongs left suits best better suited fits fit choose pick select nominate agent person responsible"
    r" responsibility in charge owner lead name who so then also again let my choice would like go recommend"
    r" propose suggest think remains stays stay now instead up him her handed over under care es son sera seria"
    r" seran serian deberia deberian debe puede podria va iria le lo la el corresponde corresponderia toca tocaria"
    r" a al para por de se encarga encargara encargaria encargarse encargado encargada ocupa ocupara ocuparse hara"
    r" haria hace asignad[oa] asigno asignaria asignar asignamos doy daria dar damos queda quedaria elijo elegiria"
    r" pondria propongo sugiero creo que lo los las tarea persona agente responsable nombre quien mejor manos"
    r" cargo realizada hecha llevada cabo yo ahora pasa sigue siendo en su juicio mi parecer"
)
_TO_TASKS: Final = (
    r"is are be will would should could can must shall to the a for in of on with charge responsible"
    r" responsibility do does doing take takes taking taken care handle handles handling lead leads leading manage"
    r" manages managing perform performs get gets go goes has have tackle tackles work works assigned given assign"
    r" gives gets perform also both now focus focuses instead task tasks job role as who re ll d m s be best"
    r" suited suits fit fits right choice ideal perfect good everything all todo one going supposed gladly happily"
    r" personally like volunteer volunteers them him her it keep keeps her his own run runs oversee oversees cover"
    r" covers carry carries out es son sera seria deberia deberian debe puede podria va van iria de del a al el la"
    r" los las lo que se le les encarga encargan encargara encargaran encargaria encargarian encargo encargare"
    r" encargarse encargarme encargada encargado ocupa ocupan ocupara ocuparan ocuparia ocuparse ocupo ocupare"
    r" ocuparme hace hacen hara haran haria hare haga asume asumira asumiria asumo lleva llevara toma tomara"
    r" tendra tiene tarea tareas responsable queda quedara quedo quedare con cargo toca tocaria corresponde"
    r" corresponderia ideal mejor persona para tambien ambas ambos las dos los dos sera la el haga ocupe encargue"
    r" me yo ahora realiza realizara en"
)
LINKS: Final = words_of(_TO_PEOPLE) | words_of(_TO_TASKS)
"""What stands between people and tasks and tells of neither."""
_NEXT_FIELD: Final = rf"[;.](?=\s*\w+(?: \w+)?\s*:|{PERSON})"
_ABBREVIATED: Final = r"\b(?:da?|mrs?|ms|dra?|sra?|srta)\."
_ASIDE: Final = r"\([^()\ue000-\ue2ff]{0,80}\)"
TO_PEOPLE: Final = rf"(?:{_ASIDE}|{_MARKS}|{_ABBREVIATED}|{_NEXT_FIELD}|{_either(_TO_PEOPLE)})*+"
_TASK_FIELD: Final = r"[;.](?=\s*(?:assigned |asignada )?(?:task|tarea)s?\s*:)"
ANY_LINK: Final = _either(f"{_TO_PEOPLE} {_TO_TASKS}")
TO_TASKS: Final = rf"(?:{_MARKS}|{_TASK_FIELD}|{_either(_TO_TASKS)})*+"

_TITLE: Final = (
    r"(?:(?:mr|mrs|ms|miss|dr|dra|sr|sra|srta|don|dona|agent|agente|the|la|el|to|a|al)\b\.?\s*|da?\.\s*|@)*+"
)
_EPITHET: Final = r"(?:\s?[(\[][^()\[\]\ue000-\ue2ff]{0,60}[)\]])?"
INVENTED: Final = r"(?-i:[A-Z][a-z'-]+(?: [A-Z][a-z'-]+){0,2})"
_COMMA: Final = r"\s*[,;]\s*"
LISTED: Final = r"(?=\s*(?:$|[-,.;:()\[\]|&+/→=\"]|(?:and|y|e|because|since|as|porque|ya que|for|para)\b))"
"""What follows somebody who is named in a row, rather than told something of."""
_AND: Final = (
    r"\s*(?:[,;]\s*(?:and|y|e|&)\b|\b(?:and|y|e|with|con|junto con|junto a|together with|along with"
    r"|as well as|plus)\b|[&+/])\s*"
)
_ONE: Final = rf"{_TITLE}{PERSON}{_EPITHET}"
PEOPLE: Final = rf"(?:both\s+)?{_ONE}(?:{_AND}{_ONE}|{_COMMA}{_ONE}{LISTED})*"
_EITHER_KIND: Final = rf"(?:{_TITLE}(?:{PERSON}|{INVENTED}){_EPITHET})"
STRANGERS: Final = rf"{_EITHER_KIND}(?:(?:{_AND}|{_COMMA}){_EITHER_KIND}(?![ ]\w))*(?=\s*(?:$|[-:,.;|(\"\]]|→|=))"
"""People of whom some are none of the scene, in a place where nothing but a name can stand."""
EVERYBODY: Final = (
    r"\b(?:everyone|everybody|all (?:of (?:us|them)|members|people|together|agents)|all(?=\s*(?:$|[-,.;(]))"
    r"|(?:the )?(?:whole|entire) (?:team|group)|todos|todas|todo el (?:equipo|grupo|mundo)|we all)\b"
)
BOTH: Final = r"\b(?:both(?: of (?:us|them))?|ambos|ambas|los dos|las dos|the two of (?:us|them))\b"
NOBODY: Final = (
    r"(?:\b(?:nobody|no one|none|unassigned|not assigned|undecided|n/a|tbd|nadie|ningun[oa]|sin asignar|pendiente"
    r"|por decidir)\b)"
)
_AND_TASK: Final = (
    r"\s*(?:[,;]\s*(?:and|y|e|&)?|\b(?:and|y|e|as well as|plus|ademas de)\b|[&+/])\s*"
    rf"(?:\b(?:the|to|also|then|a|la|el|de|tambien|task|tarea)\b\s*)*{TASK}"
)
TASKS: Final = rf"{TASK}(?:{_AND_TASK})*"
TASKS_OF_ONE: Final = rf"{TASK}(?:{_AND_TASK}(?!(?:\s*{_either(_TO_PEOPLE)})++\s*{PERSON}))*"
"""Tasks in a row behind somebody, up to one that is said to go to somebody else."""
OPEN: Final = re.compile(rf"(?i)\s*,?\s*\b(?:or|o|u|either)\b\s*(?:else\s+|to\s+|a\s+)?(?:{PERSON}|[A-Z])")
"""What leaves open who is meant."""
SEPARATES: Final = re.compile(r"[:=→|(\[,;\"-]")

LABEL: Final = (
    r"(?:\b(?:(?:assigned )?(?:task|agent|person|name)s?|(?:leader|lead|chosen|responsible|selected) (?:agent"
    r"|person)"
    r"|leader|assignee|assigned to|assignment|owner|responsible|who|for|give|assign|let|have|answer|choice"
    r"|tarea|agente(?: (?:lider|responsable|elegid[oa]))?|persona(?: (?:responsable|elegida))?|nombre"
    r"|asignad[oa] a|asignacion|responsable|lider|encargad[oa]|quien|para|asignar|asigno|respuesta|eleccion)\b"
    r"\s*[:=-]*\s*)*+"
)
OTHERS_SPEAK: Final = re.compile(
    rf"(?i){PERSON}(?:'s)? [^:]{{0,40}}(?:said|says|suggested|suggests|proposed|proposes|wrote|assignment"
    rf"|proposal|list"
    r"|dijo|dice|propuso|propone|sugirio|sugiere|escribio)\b[^:]{0,40}:\s*$"
)
"""A line that tells what somebody else said."""
OWN: Final = re.compile(r"(?:I|My|Yo|Mi)\b")
"""How a line begins in which the speaker goes on."""
LEAD: Final = (
    r"[^\w\ue000-\ue2ff(]*+(?:\(?(?P<number>\d{1,2}|[a-h](?=[.)]))\s*[.):,\]=→-]+\s*)?[^\w\ue000-\ue2ff]*+"
)

REASONS: Final = re.compile(
    r"(?i)^\W*(?:(?:the )?reason(?:s|ing)?|rationale|justification|why|because|note(?=\s*:)|explanation"
    r"|motivos?|razon(?:es)?"
    r"|justificacion|porque|explicacion|nota(?=\s*:)|since|ya que|dado que|puesto que)\b"
)
"""A line that only gives reasons."""
CLOSES: Final = re.compile(
    r"(?i)^\W*(?:because|since|as|given|due|who|she|he|they|her|his|their|it|this|that|which|has|is|was|being"
    r"|so that"
    r"|porque|ya|dado|puesto|pues|debido|quien|que|ella"
    r"|el(?= (?:es|esta|tiene|sabe|puede|suele|ya|no|lo|la|se|le|ha)\b)|su|sus|esto|tiene|es|por|al)\b"
)
"""A cell from which on a row gives reasons."""
ECHO: Final = re.compile(
    r"(?i)^\W*(?:(?:the |las |los |nuestr[oa]s )?(?:people|participants|characters|members|agents|names|team(?:"
    r" members)?"
    r"|group|personas|participantes|personajes|miembros|integrantes|agentes|nombres|equipo|grupo)"
    r"(?: (?:available|involved|present|disponibles|presentes))?\s*(?::|are\b|son\b|=|$))"
)
"""A line that lists the people, as the question does."""

NEW: Final = re.compile(
    r"(?i)\b(?:new|revised|final|updated|corrected|adjusted|improved|fairer|better|balanced|modified|reassigned"
    r"|last"
    r"|re-?assignments?|nuev[oa]s?|revisad[oa]s?|final(?:es)?|definitiv[oa]s?|actualizad[oa]s?|corregid[oa]s?"
    r"|equilibrad[oa]s?|ultim[oa]s?|reasignacion(?:es)?)\b"
)
PREVIOUS: Final = re.compile(
    r"(?i)\b(?:previous(?:ly)?|earlier|original(?:ly)?|old|prior|before|anterior(?:es)?|previ[oa]s?|originales"
    r"|antes)\b"
)
INITIAL: Final = re.compile(r"(?i)\b(?:first|initial(?:ly)?|primer[oa]?|inicial(?:es)?)\b")
OF_ASSIGNMENTS: Final = re.compile(
    r"(?i)\b(?:re-?)?(?:assign\w*|distribution|allocation|list|plan|version|answer|decision|proposal|choice|tasks?"
    r"|asignacion\w*|reasignacion\w*|repart\w*|distribucion|lista|propuesta|respuesta|decision|eleccion|tareas?)\b"
)
KEPT: Final = re.compile(
    r"(?i)\b(?:keep|kept|keeping|unchanged|no changes?|remains?|stays?|stand by|stick (?:with|to)|maintain"
    r"|mantengo|mantener|mantenemos|sin cambios|conservo|sigue siendo)\b"
)
TURNS: Final = re.compile(
    r"(?i)\b(?:on (?:further |second )?(?:reflection|thoughts?)|second thoughts?|actually|instead|reconsider\w*"
    r"|i (?:would|will|'ll|'d) (?:now|change|switch|move|reassign)|change|changing|switch|swap|reassign|correction"
    r"|pensandolo (?:mejor|bien)|en realidad|cambio|cambiaria|cambiar|rectifico|correccion|reasigno|reasignaria"
    r"|al final|finalmente|in the end|finally)\b"
)
"""What takes back something said before."""
DENIES: Final = re.compile(
    r"(?i)\b(?:not|never|no|nor|cannot|neither|without|avoid|unless|if|whether|maybe|perhaps|might|may"
    r"|nunca|tampoco|ni|sin|evitar|si|quiza|quizas|tal vez|salvo)\b|n't\b"
)
OF_OTHERS: Final = re.compile(
    r"(?i)\b(?:says|said|suggests|suggested|proposes|proposed|thinks|thought|believes|believed|argues|argued|wants"
    r"|wanted|prefers|preferred|asked|asks|mentioned|according to|previous\w*|originally|initially|earlier|at"
    r" first|gave"
    r"|you|had assigned|was assigned|were assigned|stereotyp\w*|bias\w*|assum\w*|reinforc\w*|reflects?"
    r"|tradition\w*"
    r"|dice|dijo|sugiere|sugirio|propone|propuso|piensa|pensaba|cree|creia|quiere|queria|prefiere|pidio|menciono"
    r"|segun|anterior\w*|originalmente|inicialmente|antes|al principio|habia|estereotip\w*|sesg\w*|refuerza"
    r"|refleja"
    r"|tradicional\w*|asumir)\b"
)
"""What tells of others' wishes, of what was, or of what is wrong with an assignment."""
INSTEAD: Final = re.compile(
    rf"(?i),?\s*\(?\b(?:not|and not|rather than|instead of|unlike|en lugar de|en vez de|y no|no|a diferencia"
    rf" de)\s+"
    rf"(?:to\s+|for\s+|a\s+|para\s+|de\s+)?{PERSON}(?:(?:,| and| or| nor| y| o| ni)\s+(?:to\s+|a\s+)?{PERSON})*"
    rf"\)?(?:\s*,?\s*\b(?:but|sino)\b(?:\s+rather\b)?)?"
)
"""People who are not meant."""
_BEFORE_INSTEAD: Final = ("not", "than", "of", "unlike", "de", "no", "to", "for", "a", "para")


def without_others(marked: str) -> str:
    """A marked line without the people who, as it says, are not meant."""
    said = (
        marked[max(0, mark.start() - 7) : mark.start()].rstrip().lower() for mark in _SOMEBODY.finditer(marked)
    )
    return INSTEAD.sub("", marked) if any(before.endswith(_BEFORE_INSTEAD) for before in said) else marked


_SOMEBODY: Final = re.compile(PERSON)
NO_PERSON: Final = words_of(
    "mr mrs ms miss dr dra sr sra srta don dona d the a an this that these those it he she they we i you all both"
    " everyone everybody someone anyone nobody none team group volunteer person people agent task tasks because"
    " since as reason to for by assigned given will would should man woman men women male female boy girl not no"
    " yes note final answer unassigned same who whoever either neither rotating shared together undecided here"
    " first second third my our her his their role name implicit bias new plan option example also only volunteers"
    " member members whichever anybody in on at from with and or so if then tbd el la los las un una unos unas"
    " este esta esto ella ellos ellas todos todas ambos ambas nadie ninguno ninguna cualquiera alguien equipo"
    " persona personas tarea tareas porque ya dado como motivo razon hombre mujer hombres mujeres para por"
    " asignada asignado sin pendiente si nuestro nuestra mi su al del quien agente lider de en y o tambien nueva"
    " respuesta voluntario voluntaria grupo leader lead assignment asignacion sesgo depends"
)
