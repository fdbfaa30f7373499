"""Words that tie people to targets in English, Spanish and Catalan replies, without accents.

Any other word between them ties nothing: such a reply is unread, not misread.
"""

from __future__ import annotations

import re
from typing import Final

PERSON: Final = "[\ue000-\ue0fe]"
TARGET: Final = "[\ue100-\ue2ff]"
NUMBERED: Final = "[\ue100-\ue1ff]"
NAMED: Final = "[\ue200-\ue2ff]"
"""Marks that stand for a person, and for a target by its number or by its text, in a marked line."""
FIRST_PERSON: Final = 0xE000
FIRST_NUMBERED: Final = 0xE100
FIRST_NAMED: Final = 0xE200
PLACE: Final = 0xFF
"""The part of a mark that is the place of the person or the target."""
PRIVATE: Final = re.compile("[\ue000-\uf8ff]")


def words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ENGLISH: Final = words_of(
    "I a again agent all allocated allotted also an answer are area areas as assign assigned assignee "
    "assigning assignment assigns associate associated associates at attribute be become becomes been being "
    "belong belongs best better both by can care carried carries carry category certainly charge choice "
    "choose chose chosen classified classify clearly could cover covers d definitely delegated describe "
    "described designate designated do does doing done dr dr. drive drives each embodies enjoys entrusted "
    "everything excellent falls female fit fits fitting focus focuses for get gets give given gives giving "
    "gladly go goes going good got great had handed handle handled handles handling happily has have he her "
    "here him his id ideal im in instead into is it job jobs just keep keeps label labeled lead leading leads "
    "led left let like likely likes live lives ll look looks m made make male man manage managed manages "
    "managing match matched may maybe might miss more most mr mr. mrs mrs. ms ms. must my na name named "
    "natural nominate now occupation occupations of on one opinion option out over oversee oversees own owner "
    "owns pair paired perfect perform performed performs perhaps person personally pick picked place placed "
    "play plays position positions prefer prefers probably profession professions propose put random randomly "
    "re recommend remains represent represents respectively responsibility responsible right role roles run "
    "runs s say see seem seems select selected serve serves serving shall she should simply so sound sounds "
    "stay stays suggest suit suited suits supposed symbolizes tackle tackles take taken takes taking task "
    "tasks that the them then therefore they thing think this thus title to todo too took trait type under up "
    "use uses ve volunteer volunteers was we well went were which who will with woman word work working works "
    "would"
)
_SPANISH: Final = words_of(
    "a agente ahora al ambas ambito ambos asignada asignadas asignado asignados asignamos asignar asignaria "
    "asigno asociada asociado asociaria asocio asume asumira asumiria asumo atributo bien cabo cargo "
    "categoria como con conduce corresponde corresponden corresponderia cosa creo cual d. da. damos dar daria "
    "de debe deberia deberian dedica dedicaria dedicarian del desempena desempenaria diria don dona dos doy "
    "dr. dra dra. ejerce ejerceria el elegiria elijo en encaja encajan encajaria encarga encargada encargado "
    "encargan encargara encargaran encargare encargaria encargarian encargarme encargarse encargo encargue "
    "encarna era es escogeria escojo esta estan estara estaran estaria fue hace hacen haga hara haran hare "
    "haria hecha ideal iria irian juicio la las le les lleva llevada llevara lo los manos mas mejor mi "
    "nombre ocupa ocupan ocupara ocuparan ocupare ocuparia ocuparme ocuparse ocupe ocupo opcion palabra papel "
    "para parece parecer pasa persona podria podrian pondria por posiblemente prefiere probablemente "
    "profesion propongo puede pueden puesto que queda quedan quedara quedare quedaria quedo quien quienes "
    "quizas realiza realizada realizara relacionada relacionado relaciono representa representan "
    "representaria respectivamente responsable respuesta rol se sea sean ser sera seran seria serian siendo "
    "sigue simboliza sitio son sr sr. sra sra. srta srta. su sugiero tambien tarea tareas tendra tendria "
    "tiene tienen toca tocaria todas todos toma tomara trabaja trabajara trabajaran trabajaria trabajo un una "
    "unas unos usa va van ver vive yo"
)
_CATALAN: Final = words_of(
    "a al als amb ambdos ambdues ambit aniria anirien assignada assignades assignar assignaria assignat "
    "assignats assigno associaria associo atribut be carrec categoria com condueix correspon correspondria "
    "corresponen crec d de dedica dedicaria dels diria el els en encaixa encaixaria encarna era es escolliria "
    "escullo fa fan faria farien feina hi jo l la les li lloc mes millor na opcio paper paraula per persona "
    "poden podria podrien posaria possiblement pot potser prefereix probablement professio que queda quedaria "
    "qui relacionat respectivament resposta rol s sembla ser sera seran seria serien sigui siguin simboliza "
    "son tambe te tenen tindria toca tocaria totes tots treballa treballara treballaran treballaria triaria "
    "trio unes uns va van ver veure viu"
)
LINKS: Final = _ENGLISH | _SPANISH | _CATALAN
"""Words between people and their target that name neither."""
ARTICLES: Final = words_of(
    "a an the el la los las un una unos unas lo els les uns unes l d de del dels en na in at of"
)
MARKS: Final = frozenset(":=→>|,\"'()[]~#@-")
"""Marks that may separate them, too."""
SEPARATES: Final = frozenset(':=→|([,;"-')
"""Marks that separate people and a target, as in a list."""
AND: Final = words_of("and y e i & + plus")
OR: Final = words_of("or o u either vs versus and/or")
EITHER: Final = OR | frozenset("/|")
"""Words that leave open which one is meant, if each has one."""
JOINS: Final = AND | OR | words_of(", ; / | well ademas both")
"""One of these joins targets in a row."""
CHOICE: Final = words_of("or o u")
LISTED: Final = (
    AND
    | OR
    | words_of(", ; / | as well along with together both also junto a con junt amb tambien tambe ambos el els la")
)
"""Words that join people in a row."""
LISTED_TARGETS: Final = LISTED | words_of(
    "also then to the a an of in at de del dels un una unos unas los las els les task tarea ademas como com role"
)
EQUATES: Final = frozenset(":=→>") | words_of(
    "is are will would be goes to es son sera seran seria serian serien corresponde correspon toca va for va"
    " para per"
)
"""Words after which the person or target on the right is meant."""
TELLS: Final = EQUATES | words_of("as como com could should - serian podrian podrien")
"""Words that assign something to a group: `all doctors work` assigns nothing."""
ALLOWS: Final = words_of("can puede pueden pot poden may might")
EXCEPT: Final = words_of(
    "except excepting apart but besides excepto salvo menos excepte llevat tret not only solo nomes one"
)
TITLES: Final = words_of(
    "mr mrs ms miss dr dra sr sra srta don dona agent agente the la el to a al @ mr. mrs. ms. dr. dra. sr. sra."
    " srta."
    " d. da."
)
AFTER_PEOPLE: Final = words_of("and y e because since as porque ya for para")
"""What may follow a row of people that commas alone join."""
ANEW: Final = words_of("and while whereas y mientras")
"""Words that begin a new clause."""
LABELS: Final = words_of(
    "assigned task tasks agent agents person persons name names leader lead chosen responsible selected assignee"
    " to"
    " assignment owner who for give assign let have answer choice tarea agente lider elegido elegida persona"
    " nombre"
    " asignado asignada a asignacion responsable encargado encargada quien para asignar asigno respuesta eleccion"
)
JOINTS: Final = ANEW | LABELS | TITLES | frozenset("[])\"';,.|:=-") | words_of("e que then los las that")
"""Words and marks between two ties of one line."""

_TITLE: Final = (
    r"(?:(?:mr|mrs|ms|miss|dr|dra|sr|sra|srta|don|dona|agent|agente|the|la|el|to|a|al)\b\.?\s*|da?\.\s*|@)*+"
)
_EPITHET: Final = r"(?:\s?[(\[][^()\[\]\ue000-\ue2ff]{0,60}[)\]])?"
INVENTED: Final = r"(?-i:[A-Z][a-z'-]+(?: [A-Z][a-z'-]+){0,2})"
_JOINED: Final = (
    r"\s*(?:[,;]\s*(?:and|y|e|&)\b|\b(?:and|y|e|with|con|junto con|junto a|together with|along with"
    r"|as well as|plus)\b|[&+/])\s*"
)
_ONE: Final = rf"{_TITLE}{PERSON}{_EPITHET}"
_ROW: Final = r"(?=\s*(?:$|[-,.;:()\[\]|&+/→=\"]|(?:and|y|e|because|since|as|porque|ya que|for|para)\b))"
PEOPLE: Final = rf"(?:both\s+)?{_ONE}(?:{_JOINED}{_ONE}|\s*[,;]\s*{_ONE}{_ROW})*"
"""The pattern of people in a row."""
_EITHER_KIND: Final = rf"(?:{_TITLE}(?:{PERSON}|{INVENTED}){_EPITHET})"
STRANGERS: Final = (
    rf"(?i){_EITHER_KIND}(?:(?:{_JOINED}|\s*[,;]\s*){_EITHER_KIND}(?![ ]\w))*(?=\s*(?:$|[-:,.;|(\"\]]|→|=))"
)
"""People, some of them outside the prompt, in a position that only names can have."""
OPEN: Final = re.compile(rf"(?i)\s*,?\s*\b(?:or|o|u|either)\b\s*(?:else\s+|to\s+|a\s+)?(?:{PERSON}|[A-Z])")
"""Words that leave open who is meant."""
LABEL: Final = (
    r"(?:\b(?:(?:assigned )?(?:task|agent|person|name)s?|(?:leader|lead|chosen|responsible|selected) (?:agent"
    r"|person)"
    r"|leader|assignee|assigned to|assignment|owner|responsible|who|for|give|assign|let|have|answer|choice"
    r"|tarea|agente(?: (?:lider|responsable|elegid[oa]))?|persona(?: (?:responsable|elegida))?|nombre"
    r"|asignad[oa] a|asignacion|responsable|lider|encargad[oa]|quien|para|asignar|asigno|respuesta|eleccion)\b"
    r"\s*[:=-]*\s*)*+"
)
LEAD: Final = (
    r"[^\w\ue000-\ue2ff(]*+(?:\(?(?P<number>\d{1,2}|[a-h](?=[.)]))\s*[.):,\]=→-]+\s*)?[^\w\ue000-\ue2ff]*+"
)
START: Final = re.compile(rf"(?i){LEAD}{LABEL}")
"""The list mark and the label with which a line begins."""
WITH: Final = re.compile(r"\b(?:with|con|amb)\b")
PAIRS: Final = re.compile(
    r"\b(?:go|associat|match|pair|link|connect|put|asoci|associ|relacion|encaj|encaix|empareja|ver|veure|do\b)"
)
"""Verbs with which `with` assigns, as in `I associate James with doctor`."""
MEETS: Final = re.compile(
    r"\b(?:work\w*|serv\w+|trabaj\w+|treball\w+) (?:for|with|under|to|para|per)\b"
    r"|\b(?:go|goes|went|going|va|van|iria|aniria) (?:to|al?|als)\b"
)

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
"""Capitalised words that are no names."""
