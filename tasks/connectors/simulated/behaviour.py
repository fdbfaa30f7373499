"""Replies of a respondent, determined by respondent, message and seed on every machine."""

# A by-rate respondent fails a template's oracle with the configured probability and passes it otherwise, so that
# its true rates are known: `pass_probability` for an instance, `template_pass_probability` for a test.

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.catalogs.schema.oracle import LETTERS, Associations
from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.catalogs.wording import answer_format, orders
from biasgrid.tasks.connectors.simulated import repertoire as noise
from biasgrid.tasks.connectors.simulated.fault_injection import Chance, OddReply
from biasgrid.tasks.connectors.simulated.recognition import FilledSlot, RecognisedTemplate
from biasgrid.tasks.connectors.simulated.repertoire import (
    Phrases,
    answer_letters,
    fair_value,
    find_phrases,
    forbids_options,
    matches,
    moved_value,
    number_reply,
    offered_answers,
    plain,
    quoted_parts,
)
from biasgrid.tasks.connectors.simulated.roles import word_pairs


def fixed_reply(respondent: Respondent, recognised: RecognisedTemplate, message_text: str) -> str:
    """A fixed reply in the language of the question: a number, the first letter or the first label."""
    template = recognised.template
    if template.oracle.answers == "number":
        return number_reply(template.oracle.key or "value", respondent.constant_value)
    if template.oracle.words is not None:
        test = word_pairs.read_word_test(template.oracle.words, message_text)
        return word_pairs.format_pairs(dict.fromkeys(test.words, test.first))
    return _constant_answer(respondent, template, recognised.language)


def fixed_passes(respondent: Respondent, template: Template, language: LanguageCatalog | None) -> bool:
    """Whether a fixed reply passes the oracle; one label for all words shows no association and never passes."""
    oracle = template.oracle
    if oracle.answers == "pairs":
        return False
    if oracle.answers == "number":
        return oracle.scale.low <= respondent.constant_value <= oracle.scale.high
    answer = _constant_answer(respondent, template, language)
    if oracle.answers == "letter":
        return oracle.choices[LETTERS.index(answer)].role in oracle.expected
    if oracle.judged.passes is not None:
        return oracle.judged.passes(oracle, answer)
    phrases = find_phrases(template.language)
    if answer in (phrases.yes, phrases.no) and language and forbids_options(template, language, phrases):
        return False
    return matches(answer, oracle.expected, oracle.where) is not oracle.judged.forbids


def translate_constant(constant: str, phrases: Phrases) -> str:
    """`Yes` and `No` in another language; any other constant unchanged."""
    return {"yes": phrases.yes, "no": phrases.no}.get(constant.lower(), constant)


def _constant_answer(respondent: Respondent, template: Template, language: LanguageCatalog | None) -> str:
    phrases = find_phrases(template.language)
    constant = translate_constant(respondent.constant, phrases)
    if template.oracle.answers == "letter":
        texts = [plain(choice.text) for choice in template.oracle.choices]
        is_choice = respondent.answers == "constant" and plain(constant) in texts
        return LETTERS[texts.index(plain(constant)) if is_choice else 0]
    if respondent.answers == "constant":
        return constant
    first = _first_named(template, language)
    return first if first is not None else phrases.yes


def _first_named(template: Template, language: LanguageCatalog | None) -> str | None:
    """The answer that the output instruction names first, else the first answer that it admits."""
    if language is None:
        text, answers = template.format, template.answers or quoted_parts(template.format)
    else:
        text, answers = answer_format(template, language).text, offered_answers(template, language)
    named = [answer for answer in answers if answer in text]
    return min(named, key=text.index) if named else next(iter(answers), None)


Intent = Literal["passed", "failed", "refused", "unreadable", "constant", "withheld", "none"]
REMARK_SHARE = 0.5
FIXED = ("constant", "first-option")
"""Kinds of respondents that answer without reading the question."""


@dataclass(frozen=True, slots=True)
class SimulatedReply:
    text: str
    intent: Intent
    """The intended outcome; `none` if no template was recognised."""
    odd: OddReply | None = None

    @property
    def finish_reason(self) -> str:
        """The finish reason in OpenAI's terms."""
        return "content_filter" if self.odd == "content_filter" else "stop"


def write_reply(
    respondent: Respondent, recognised: RecognisedTemplate | None, message_text: str, seed: int | None
) -> SimulatedReply:
    """The reply to the user's last message, for any protocol and history."""
    chance = Chance(respondent.id, respondent.seed, message_text, seed)
    if recognised is None:
        return _reply_to_unknown(respondent, chance)
    if respondent.answers == "refuse":
        return SimulatedReply(chance.pick("refusal", recognised.repertoire.refusing), "refused")
    if respondent.answers in FIXED:
        return SimulatedReply(fixed_reply(respondent, recognised, message_text), "constant")
    fails = chance.uniform("outcome") < failure_rate(respondent, recognised.template, recognised.first)
    if recognised.template.oracle.answers == "number":
        return _write_number(respondent, recognised.template, chance, fails)
    if recognised.template.oracle.words is not None:
        return _write_pairs(respondent, recognised.template.oracle.words, message_text, chance, fails)
    return _write_answer(respondent, recognised, chance, fails)


def failure_rate(respondent: Respondent, template: Template, community: FilledSlot | str | None) -> float:
    """The configured share of failing replies, 0–1, by concern and by the community in the first slot."""
    rates = respondent.concerns.get(template.concern, respondent.failures)
    names = _names(community)
    return next((rates.communities[name] for name in names if name in rates.communities), rates.default)


def pass_probability(
    respondent: Respondent,
    template: Template,
    community: FilledSlot | str | None = None,
    language: LanguageCatalog | None = None,
) -> float:
    """The true probability, 0–1, that the reply to one instance passes."""
    # Passing: the oracle matches, or the number is readable and not moved. `community` is the first slot's:
    # an id, a literal, or None without slots. `template` has its choices in the order of the instance. A
    # first-option respondent needs `language`, whose formats state which answer is offered first.
    if respondent.answers == "refuse":
        return 0.0
    if respondent.answers in FIXED:
        return float(fixed_passes(respondent, template, language))
    if _right_either_way(template):
        return 1.0
    return (1 - failure_rate(respondent, template, community)) * (1 - _unreadable(respondent, template))


def template_pass_probability(
    respondent: Respondent,
    template: Template,
    communities: Sequence[FilledSlot | str | None],
    language: LanguageCatalog | None = None,
) -> float:
    """The true probability, 0–1, that a template's test passes, given each instance's first community."""
    # A template with several wordings has as many instances for each. A same-value test also passes if every
    # number is moved, since all are moved alike.
    if respondent.answers in FIXED:
        asked = [template.model_copy(update={"oracle": oracle}) for oracle in orders(template.oracle)]
        return float(all(fixed_passes(respondent, one, language) for one in asked))
    every = math.prod(pass_probability(respondent, template, community) for community in communities)
    if respondent.answers != "by-rate" or template.oracle.answers != "number":
        return every
    readable = 1 - _unreadable(respondent, template)
    return every + math.prod(failure_rate(respondent, template, community) * readable for community in communities)


def _right_either_way(template: Template) -> bool:
    if template.oracle.answers != "letter":
        return False
    passing, failing = answer_letters(template.oracle)
    return passing == failing


def _names(community: FilledSlot | str | None) -> tuple[str, ...]:
    if community is None:
        return ()
    if isinstance(community, str):
        return (community,)
    return (*community.names, community.literal)


def _write_answer(
    respondent: Respondent, recognised: RecognisedTemplate, chance: Chance, fails: bool
) -> SimulatedReply:
    repertoire = recognised.repertoire
    fails = fails and repertoire.failing != repertoire.passing
    answer = chance.pick("answer", repertoire.failing if fails else repertoire.passing)
    # markup could change the result of a user's own operation
    is_messy = respondent.noise == "messy" and recognised.template.oracle.answers != "own"
    dressed = chance.pick("form", noise.answer_forms(answer)) if is_messy else answer
    return SimulatedReply(_with_remark(dressed, repertoire.remarks, chance), "failed" if fails else "passed")


def _with_remark(answer: str, remarks: Sequence[str], chance: Chance) -> str:
    if not remarks or chance.uniform("remark?") >= REMARK_SHARE:
        return answer
    stop = "" if answer.rstrip('*_"»”').endswith(".") else "."
    return f"{answer}{stop} {chance.pick('remark', remarks)}"


def _write_number(respondent: Respondent, template: Template, chance: Chance, fails: bool) -> SimulatedReply:
    key, value = template.oracle.key or "value", fair_value(respondent, template)
    if chance.uniform("unreadable") < _unreadable(respondent, template):
        return SimulatedReply(chance.pick("form", noise.unreadable_forms(key)), "unreadable")
    if fails:
        value = moved_value(value, respondent.shift, template.oracle.scale)
    forms = noise.number_forms(key, value, find_phrases(template.language))
    text = chance.pick("form", forms) if respondent.noise == "messy" else forms[0]
    return SimulatedReply(text, "failed" if fails else "passed")


def _unreadable(respondent: Respondent, template: Template) -> float:
    return respondent.unreadable if template.oracle.answers == "number" else 0.0


def _write_pairs(
    respondent: Respondent, words: Associations, message_text: str, chance: Chance, fails: bool
) -> SimulatedReply:
    test = word_pairs.read_word_test(words, message_text)
    chosen = word_pairs.choose_pairs(words, test, is_stereotypical=fails)
    form = chance.pick("form", noise.PAIR_FORMS) if respondent.noise == "messy" else noise.PAIR_FORMS[0]
    return SimulatedReply(word_pairs.format_pairs(chosen, form), "failed" if fails else "passed")


def _reply_to_unknown(respondent: Respondent, chance: Chance) -> SimulatedReply:
    """An unbiased reply in English to an unknown message: a judge's question, a greeting, an unknown template."""
    phrases = find_phrases("en")
    if respondent.answers == "refuse":
        return SimulatedReply(chance.pick("refusal", phrases.refusals), "refused")
    if respondent.answers in FIXED:
        constant = respondent.constant if respondent.answers == "constant" else phrases.yes
        return SimulatedReply(translate_constant(constant, phrases), "constant")
    return SimulatedReply(chance.pick("statement", phrases.statements), "none")
