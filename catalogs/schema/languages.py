"""Defines a language: its phrases, numerals and formats of answers, as validated by pydantic."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from pydantic import Field, StringConstraints

from biasgrid.catalogs.schema.base import Frozen, Language
from biasgrid.catalogs.schema.oracle import Oracle


class AnswerFormat(Frozen):
    """An output instruction with what it admits, named once per language and used by many templates."""

    text: str
    """The sentence sent after the prompt."""
    answers: tuple[str, ...] = ()
    """The answers it offers, in order; a respondent of known bias picks from them."""
    key: str | None = None
    """For a JSON reply: the key that holds the number."""


Phrase = Annotated[str, StringConstraints(pattern=r"\S", max_length=1000)]
"""Words of a reply in lower case. `a|b` are alternatives of a word, `word?` may be missing, `word*` may have an
ending, and `…` stands for up to four words. An apostrophe may be missing in the reply."""
Phrases = Annotated[tuple[Phrase, ...], Field(min_length=1)]


class Stances(Frozen):
    """The phrases of a language by concept, for the reader of expected values."""

    bare_yes: Phrases
    """The word `yes` and its spellings."""
    bare_no: Phrases
    """The word `no` and its spellings; they may begin a clause that denies nothing: `no matter who it is`."""
    bare_not: Phrases
    """Other words that begin a clause as `no` does: `not`."""
    yes: Phrases
    """Agree, whatever follows in their clause: `i agree`, `you bet`."""
    no: Phrases
    """Deny, unless their clause has a word of `reversals`: `of course not`."""
    sure: Phrases
    """Agree, unless the rest of their clause denies: `of course they are not`."""
    both: Phrases
    """Take both sides, or repeat what could be answered: `yes and no`."""
    hedged: Phrases
    """Take no side where one is asked for: `it depends`, `hard to say`."""
    inapplicable: Phrases
    """The abbreviation that formats offer for no answer: `n/a`."""
    unknown: Phrases
    """Nothing can be concluded from what is given: `it is impossible to know`."""
    none: Phrases
    """None of the options: `neither`, `nobody`."""
    either: Phrases
    """Any option, or no difference between them: `either`, `it does not matter`."""
    first: Phrases
    """The first option: `the first`, `the former`."""
    second: Phrases
    """The second option."""
    picks: Phrases
    """Take what their clause names: `i'd hire`, `my money is on`."""
    persons: Phrases
    """Name one of the persons in a question: `the man`, `her`, `the other`."""
    declines: Phrases
    """Decline to answer, in any words: `no comment`, `i'd rather not`."""
    unwilling: Phrases
    """Decline, if no answer was read in the reply: `i won't`, `not from me`."""
    excuses: Phrases
    """Begin a refusal unless an answer follows: `i'm sorry`, `as an ai`."""
    reproaches: Phrases
    """Call false or unfair what their clause is about: `wrong` in `that's wrong` and in `not wrong`."""
    rejections: Phrases
    """Deny or refuse it: `doubt`, `turn down`; a reproach may turn them round: `absurd to deny it`."""
    negators: Phrases
    """Deny a clause: `not`, `never`, `nobody`."""
    equalities: Phrases
    """Deny a difference: `equally`, `as … as`, `regardless`; where equality is asked about, they affirm it."""
    difference: Phrases
    """The word `difference` and its like: they deny where equality is asked about."""
    lesser: Phrases
    """State a difference to less: `worse`."""
    greater: Phrases
    """State a difference to more: `better`."""
    pronouns: Phrases
    """Stand for the subject of the question at the start of a clause: `they`, `it`."""
    grammar: Phrases
    """Words of four letters and more that any sentence may hold, and that do not show what it is about."""
    causes: Phrases
    """Begin a reason: `because`."""
    complements: Phrases
    """Begin what a clause is about, which is denied apart from it: `that` in `no doubt that they are not`."""
    concord: bool = False
    """Whether several negators deny once, as in `no … nada`."""
    conclusions: Phrases
    """Announce the answer, after reasons too: `so the answer is`, `in short`."""
    contrasts: Phrases
    """Begin the other side: `but`, `however`."""
    attributions: Phrases
    """Report what others think: `some people say`, `if`."""
    fillers: Phrases
    """Stand before an answer and mean nothing: `well`, `to be honest`."""
    exceptions: Phrases
    """Limit an answer of none: `except`, `apart from`."""
    misconceptions: Phrases = ()
    """Name a belief that is wrong: `myth`; whatever else denies in their clause means the same, unless it denies
    this: `a myth without any basis`, `not a myth`."""
    conjunctions: Phrases = ()
    """Join two statements: `and` in `it's unfair and it's false`."""
    copulas: Phrases = ()
    """Say what something is: `is` in `to deny it is a prejudice`."""
    likenesses: Phrases = ()
    """Ask for equal treatment, in a question: `like anyone else`."""
    unrelated: Phrases = ()
    """Deny that two things are related, and so a difference: `no bearing`."""
    continuations: Phrases = ()
    """Begin a clause that goes on denying: `nor`, or sets off the words before it: `not`."""
    concessions: Phrases = ()
    """Begin what is granted before the answer: `although`, `while`."""
    claims: Phrases = ()
    """Begin what others hold, which a clause that speaks of it mostly rejects: `to assume so`, `denying her`."""
    validations: Phrases = ()
    """Call right what a clause is about: `the statement has it right`."""
    rhetorical: Phrases = ()
    """Begin a question that states the opposite: `how could they`, `who would`."""
    instructions: Phrases = ()
    """Begin a sentence about how to answer: `answer with yes or no`."""
    undecided: Phrases = ()
    """Leave a yes or no open, wherever they stand: `torn`, `in favor and … against`."""
    retractions: Phrases = ()
    """Take back what stands before them: `i take that back`."""
    ascriptions: Phrases = ()
    """Ascribe to others what stands before them in their sentence: `you might think`, `or so they say`."""
    frames: Phrases = ()
    """Limit a stand to how things should be, or look: `in theory`, `on paper`."""
    joint: Phrases = ()
    """Say of several persons that all did it: `they did it together`, `neither is innocent`."""
    emphasis: Phrases = ()
    """Only strengthen their clause, although they hold a negation: `without reservation`."""
    adverbial: Phrases = ()
    """Begin the other side at the start of a clause alone: `still`, not in `they are still able`."""
    deliveries: Phrases = ()
    """Hand over what was asked for: after `sure`, which then answers nothing."""
    dangling: Phrases = ()
    """Words that end no sentence: `the`, `and`."""
    tasks: Phrases = ()
    """What a reply calls its task, rather than do it: `sentence` in `I leave the sentence as it is`."""
    unaccented: Phrases = ()
    """A yes without its accent, which means something else within a clause: `si`."""
    caveats: Phrases = ()
    """Limit no answer, wherever they stand: `there are exceptions`, `every person is different`."""
    modals: Phrases = ()
    """Say what someone can, may or ought to do: `can`, `should`."""
    abilities: Phrases = ()
    """Say that someone is able, and so not less able than others where a question asks that."""
    points: Phrases = ()
    """Number the points of a text, not the options: `the first thing to say`, `the second is that`."""

    @property
    def affirmations(self) -> tuple[str, ...]:
        return (*self.bare_yes, *self.yes)

    @property
    def denials(self) -> tuple[str, ...]:
        return (*self.bare_no, *self.bare_not, *self.no)

    @property
    def reversals(self) -> tuple[str, ...]:
        """What turns a clause round."""
        return (*self.misconceptions, *self.reproaches, *self.rejections)

    @property
    def unknowable(self) -> tuple[str, ...]:
        return (*self.inapplicable, *self.unknown)

    @property
    def differences(self) -> tuple[str, ...]:
        return (*self.difference, *self.lesser, *self.greater)


class Numerals(Frozen):
    """How a language spells the numbers from 0 to 199."""

    least: tuple[str, ...] = Field(min_length=30, max_length=30)
    """0 to 29."""
    tens: tuple[str, ...] = Field(min_length=7, max_length=7)
    """30, 40 … 90."""
    joint: str
    """Between tens and ones."""
    hundred: str
    over_hundred: str
    """Before what is added to a hundred, with its blank."""

    @cached_property
    def spelled(self) -> dict[str, int]:
        """Numbers by their spelling."""
        joined = (
            (f"{ten}{self.joint}{self.least[one]}" if one else ten, 10 * place + one)
            for place, ten in enumerate(self.tens, 3)
            for one in range(10)
        )
        small = dict(zip(self.least, range(30), strict=True)) | dict(joined)
        large = {f"{self.over_hundred}{word}": 100 + number for word, number in small.items() if number}
        return small | {self.hundred: 100} | large


class LanguageCatalog(Frozen):
    """Wording that belongs to a language, not to a provider."""

    id: Language
    name: str
    framing: str
    """How a prompt with a prefix is put together: `{prefix}`, `{prompt}`."""
    formats: dict[str, AnswerFormat]
    """Output instructions by the name that templates use, such as `yes_no`; the same names in every language."""
    oracles: dict[str, Oracle] = Field(default_factory=dict)
    """Oracles by the name that templates use, such as `denied`; the same names in every language."""
    refusals: tuple[str, ...]
    """Openings and phrases by which a model declines to answer, in this language."""
    labels: tuple[str, ...] = ()
    """What a model writes before its answer, such as `answer` in `Answer: No`."""
    stance: Stances | None = None
    """How replies take a stand; without it, expected values are found as they are written."""
    numerals: Numerals | None = None
    """How numbers are spelled, such as `ninety-two`; without it, numbers in words are not read."""
