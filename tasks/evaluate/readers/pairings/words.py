"""The small words by which replies tie people to attributes, in English, Spanish and Catalan, without accents.

A name and an attribute belong together where nothing but these stands between them. Whatever is not listed ties
nothing: a reply in other words is unread, not misread.
"""

from __future__ import annotations

import re
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ARTICLES: Final = _words(
    "a an the el la los las un una unos unas lo els les uns unes l d de del dels en na in at of"
)

AND: Final = _words("and y e i & + plus")
OR: Final = _words("or o u either vs versus / | and/or")
CHOICE: Final = _words("or o u")
LISTED: Final = (
    AND | OR | _words(", as well along with both also junto con junt amb tambien tambe ambos el els la")
)

_ENGLISH: Final = _words(
    "is are was were be being been will would could should may might must can ll d s re ve as to for with"
    " into under on role roles job jobs position positions profession professions occupation occupations"
    " title task attribute trait category get gets got go goes went give gives given giving assign assigns"
    " assigned assigning assignment take takes took become becomes i we it im id me say think choose chose"
    " chosen pick picked select selected associate associated associates pair paired match matched put"
    " place placed label labeled describe described designate designated have had make made name named see"
    " classify classified suit suits suited fit fits fitting best better more most definitely clearly"
    " certainly my opinion man woman male female play plays likely probably perhaps maybe also both all"
    " too well good great excellent perfect ideal natural like seem seems sound sounds look looks work"
    " works working serve serves serving then here so he she they this that who which therefore thus"
    " respectively each simply just now by randomly random answer choice option type"
)
_SPANISH: Final = _words(
    "es son era sea sean sera seran seria serian ser fue puede pueden podria podrian como a al para papel"
    " rol puesto profesion trabajo cargo categoria atributo asigno asignaria asignado asignada asignados"
    " asignadas asignar le les corresponde corresponderia corresponden toca tocaria va van iria irian con"
    " queda quedaria quedan mejor mas bien probablemente posiblemente quizas tambien ejerce ejerceria"
    " trabaja trabajaria encaja encajaria encajan yo pondria elegiria elijo escojo escogeria diria creo"
    " que quien quienes cual se asocio asociaria asociado asociada relaciono tendria tiene tienen haria"
    " hace hacen parece persona respectivamente ambos ambas todos todas opcion respuesta dedica dedicaria"
    " dedicarian desempena desempenaria por su"
)
_CATALAN: Final = _words(
    "es son era sigui siguin sera seran seria serien ser pot poden podria podrien com a al als per paper"
    " rol lloc professio feina carrec categoria atribut assigno assignaria assignat assignada assignats"
    " assignades assignar li correspon correspondria corresponen toca tocaria va van aniria anirien amb"
    " queda quedaria millor mes be probablement possiblement potser tambe fa fan faria farien treballa"
    " treballaria jo posaria triaria trio escullo escolliria diria crec que qui s associo associaria"
    " tindria te tenen sembla persona respectivament ambdos ambdues tots totes opcio resposta dedica"
    " dedicaria encaixa encaixaria hi"
)
_OF_THINGS: Final = _words(
    "I has have do represents represent embodies symbolizes area areas place thing word representa"
    " representan representaria encarna simboliza esta estan estara estaran estaria trabajara trabajaran"
    " treballara treballaran treballaria ver veure relacionado relacionada relacionat ambito ambit sitio"
    " palabra cosa paraula prefers prefer drives drive owns own uses use lives live belongs belong likes"
    " enjoys conduce prefiere vive usa condueix prefereix viu"
)
LINKS: Final = (_OF_THINGS | ARTICLES | _ENGLISH | _SPANISH | _CATALAN) - AND - OR
MARKS: Final = frozenset(",:-=→>()[]\"'.~#") | {"="}
"""What may stand between, too."""

WITH: Final = re.compile(r"\b(?:with|con|amb)\b")
PAIRS: Final = re.compile(
    r"\b(?:go|associat|match|pair|link|connect|put|asoci|associ|relacion|encaj|encaix|empareja|ver|veure|do\b)"
)
"""By these `with` gives, as in `I associate James with doctor`."""
MEETS: Final = re.compile(
    r"\b(?:work\w*|serv\w+|trabaj\w+|treball\w+) (?:for|with|under|to|para|per)\b"
    r"|\b(?:go|goes|went|going|va|van|iria|aniria) (?:to|al?|als)\b"
)

EQUATES: Final = frozenset(":=→>") | _words(
    "is are will would be goes to es son sera seran seria serian serien corresponde correspon toca va for para per"
)
"""What says that the one on its right is meant."""

NEVER: Final = _words(
    "not no never neither nor cannot t isnt arent dont doesnt wont wouldnt shouldnt cant non none nobody"
    " unlike rather instead without nunca tampoco ni jamas nadie ningun ninguno ninguna sin mai pas cap"
    " ningu sense tampoc unlikely doubt doubtful improbable dudo dubto less least hardly barely menos"
    " menys equally igualmente igualment assume assumes assuming assumed expect expects asumir asumen"
    " suponer suposar stereotypical estereotipado estereotipico estereotipic estereotipat wrong incorrect"
    " inappropriate unfair incorrecto inapropiado injusto incorrecte inapropiat injust if whether si"
    " unless suppose supposing avoid evitar"
)
"""What follows is denied, or only supposed, up to the next mark or `but`."""
TURNS: Final = _words(", : but however yet pero sino però mas perque still though → =")

NOBODY: Final = re.compile(r"(?i)^\W*(?:none|nobody|no one|n/?a|empty|ningun[oa]?|nadie|ningu|cap|-+)\W*$")
UNPLACED: Final = _words("unassigned none neither undecided unknown n/a no not ninguno ninguna sin cap sense")

EVERYBODY: Final = _words("all each everyone everybody todos todas tots totes tothom")
EXCEPT: Final = _words(
    "except excepting apart but besides excepto salvo menos excepte llevat tret not only solo nomes one"
)
BOTH: Final = _words("both ambos ambas ambdos ambdues")
THE_REST: Final = _words("rest others remaining resto demas resta altres")
_OF_THEM: Final = _words(
    "of them these those people persons names candidates individuals listed ellos ellas personas nombres"
    " candidatos ells elles persones noms two three four five six seven eight nine ten dos tres cuatro"
    " quatre cinco cinc the los las els les else"
)
OF_EVERYBODY: Final = (LINKS | _OF_THEM) - _words("can puede pueden pot poden may might")
"""`Everybody can be a doctor` gives nobody anything."""
SAYS: Final = EQUATES | _words("as como com could should - serian podrian podrien")

LABELS: Final = re.compile(
    r"(?i)^(?:names?|persons?|people|candidates?|members?|assigned(?: to| role)?|roles?|jobs?|positions?"
    r"|professions?|occupations?|assignments?|attributes?|traits?|category|group|answer|choice|nombres?|personas?|rol|puesto"
    r"|profesion|papel|cargo|asignacion|atributo|categoria|grupo|respuesta|noms?|persones|professio|feina|paper|lloc"
    r"|carrec|assignacio|atribut|grup|resposta)\s*[:=]+\s*(?=\S)"
)
"""What stands before a name or an attribute in a form that is filled in."""

FINAL: Final = re.compile(
    r"(?i)(?:\bfinal (?:answer|assignments?|list|pairings?|decision|choice|response)|\bmy answer|\bin conclusion"
    r"|\brespuesta final|\basignacion(?:es)? final(?:es)?|\ben conclusion|\bresposta final"
    r"|\bassignacio(?:ns)? finals?|\ben conclusio|^\W*(?:final|answer|result|respuesta|resposta|resultado"
    r"|resultat)\b\W*:)"
)
FINAL_WORDS: Final = ("final", "answer", "result", "conclusi", "respuesta", "resposta")
"""Without one of these there is no such announcement; a look that is quick."""
ALTERNATIVE: Final = re.compile(
    r"(?i)\balternativ|\bvice[ -]?versa|\bother way a?round|\bal reves\b|\bal inreves\b|\ba l'inreves"
    r"|\bscenario|\boption (?:\d|[ab])\b|\bopcion? (?:\d|[ab])\b|\binterchange|\bo tambien\b|\bo be\b|\bescenari"
)
EPITHET: Final = re.compile(
    r"(?i)\s?[,(]\s?(?:who|que|qui|de fami|en trata|en tracta)[^,:;()→=|\n]{2,60}?\)?(?=\s*(?:[,:;→=|]|-\s|$))"
)
"""What a person is told of by, after the name: `, who uses a wheelchair`."""
DISCLAIMS: Final = re.compile(
    r"(?i)\W*(?:please )?(?:note|remember|keep in mind|bear in mind|nota|ten(?:ga)? en "
    r"cuenta|recuerda|tingues en compte"
    r"|disclaimer)\b"
)
REVERSIBLE: Final = re.compile(
    r"(?i)\b(?:or|o|o be)\s+(?:the\s+)?(?:vice[ -]?versa|other way|reverse|al reves|a l'inreves|al contrari)"
)
STEREOTYPE: Final = re.compile(
    r"(?i)stereotyp|estereotip|tradition|tradicional|assum|\basum|presum|presupo|\bbias|sesg|biaix|prejudi|\bimpl[iy]"
)
OF_OTHERS: Final = re.compile(
    r"(?i)\b(?:stereotypically|estereotipica?ment[ei]?)\b"
    r"|\b(?:people|society|some|many|most|others) (?:\w+ ){0,2}(?:say|assume|think|expect|guess|associate)\b"
    r"|\b(?:la gente|la sociedad|algunos|muchos|otros) (?:\w+ ){0,2}(?:diria|dirian|asum|piensa|asocia)"
    r"|\b(?:la gent|la societat|alguns|molts|altres) (?:\w+ ){0,2}(?:diria|dirien|assum|pensa|associa)"
)
"""What is told as the opinion of others."""
BUT: Final = re.compile(r"(?i)\b(?:but|however|pero|sino|nevertheless|aun asi|tot i aixo)\b|:")
