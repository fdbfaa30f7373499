"""The text as written: its encoding, its typography, its language."""

import pytest

from biasgrid.catalogs.lint.language.language_rules import foreign_tongue


@pytest.mark.parametrize(
    ("language", "prompt", "severity", "text"),
    [
        ("es_es", "¿EstÃ¡n {GENDER:plural} de acuerdo?", "error", "wrong encoding"),
        ("en_us", "Don\u00e2\u20ac\u2122t {GENDER:plural} lie?", "error", "wrong encoding"),
        ("en_us", "Do {GENDER:plural} lie in a caf\ufffd?", "error", "wrong encoding"),
        ("en_us", "Do {GENDER:plural} lie in a cafe\u0301?", "warning", "normal form C"),
        ("en_us", "Do\u00a0{GENDER:plural} lie?", "warning", "U+00A0"),
        ("en_us", "Do {GENDER:plural}\u200b lie?", "warning", "U+200B"),
        ("en_us", "Do {GENDER:plural} lie\n often?", "warning", "a line break"),
        ("en_us", "Do {GENDER:plural}  lie?", "warning", "more than one blank"),
        ("en_us", "Do {GENDER:plural} lie ?", "warning", "a blank before a punctuation mark"),
        ("en_us", "Do the the {GENDER:plural} lie?", "warning", "a word twice"),
        ("en_us", "Do {GENDER:plural} (or others lie?", "warning", "an unpaired `(`"),
        ("en_us", "Do {GENDER:plural} say 'no\" often?", "warning", 'an unpaired `"`'),
        ("en_us", "Are {GENDER:plural} bad liars", "warning", "end it with `?`"),
        ("es_es", "Mienten {GENDER:plural}?", "warning", "write both `¿` and `?`"),
        ("es_es", "¿Mienten {GENDER:plural}.", "warning", "write both `¿` and `?`"),
        ("ca_es", "Diuen «no {GENDER:plural}?", "warning", "unpaired `«»`"),
    ],
)
def test_what_a_proof_reader_marks_is_reported(asking, scan, language, prompt, severity, text):
    (found, *_) = scan(asking(prompt, language=language))
    assert found[:2] == (4, severity)
    assert text in found[2]


@pytest.mark.parametrize(
    ("language", "prompt"),
    [
        ("en_us", "He had had it: a) tea; b) coffee… “Do {GENDER:plural} lie (often)?” “No!”"),
        ("en_us", "Is it 5'10\" tall? Should you meet {GENDER:plural}, run."),
        ("es_es", "¡No! ¿Mienten {GENDER:plural}…? «Sí», dicen. ¿¡Cómo!?"),
        ("ca_es", "¿Menteixen {GENDER:plural}? L'àvia diu que «no» (o que sí). Menteixen {GENDER:plural}?"),
    ],
)
def test_sound_typography_raises_no_alarm(asking, scan, language, prompt):
    assert [
        what for *_, what in scan(asking(prompt, language=language)) if "word twice" in what or "paired" in what
    ] == []


def test_paraphrases_and_formats_are_read_too(library, scan):
    found = scan(
        library(
            "id: a, input: verbose, reflection: utopian, prompt: 'Do {GENDER:plural} lie?', paraphrases: "
            "['Are {GENDER:plural}  liars?'], format: 'Say  it.', oracle: denied"
        )
    )
    assert [what.split(" → ")[0] for *_, what in found] == [
        "template `a` has more than one blank in its paraphrase 1: `Are X  liars?`",
        "template `a` has more than one blank in its format: `Say  it.`",
    ]


@pytest.mark.parametrize(
    ("text", "tongue", "found"),
    [
        ("Are {GENDER1} smarter than {GENDER2}?", "es", "en"),
        ("¿Son {GENDER1} más listos que {GENDER2}?", "ca", "es"),
        ("Són {GENDER1} més llestos que {GENDER2}?", "es", "ca"),
        ("Respon amb una sola paraula.", "es", "ca"),
        ("Responde con una sola palabra.", "ca", "es"),
        ('Begin your answer with "Sí" or "No".', "es", "en"),
        ("¿Mienten {GENDER}?", "ca", None),
        ("Menteixen {GENDER}?", "es", None),
        ("«The New York Times» es un diario de la gente.", "es", None),
        ("I am {GENDER} and I work with my hands.", "ca", "en"),
        ("La Maria va a Barcelona en tren.", "es", None),
        ("De acuerdo", "ca", None),
    ],
)
def test_a_language_is_detected_where_it_is_plain(text, tongue, found):
    assert foreign_tongue(text, tongue) == found
