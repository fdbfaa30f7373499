"""The catalog check: what it finds, where, what to do, and what it leaves alone."""

from pathlib import Path

import pytest

from biasgrid.catalogs.lint.check import lint

NUMBER = {"oracle": "same value", "oracle_prediction": '{"operation": "allSameValue", "key": "score"}'}
"""A row of a table that compares numbers."""


def find(library: Path | str = "shipped", overlay: Path | None = None, severity: str = "error") -> list[str]:
    """Each finding as `file:line: what | remedy`, without those on cells with few templates; with an overlay,
    those of its own files."""
    fault = [f.mistake for f in lint(library, overlay).findings if f.severity == severity]
    mine = [m for m in fault if overlay is None or not m.where.startswith("catalogs/")]
    return [f"{Path(m.where).name}: {m.what} | {m.remedy}" for m in mine if "fewer than" not in m.what]


def of_sexism(*entries: str, language: str = "en_us", concern: str = "sexism") -> str:
    head = f"language: {language}\nconcern: {concern}\ntemplates:\n"
    return head + "".join(f"  - {entry}\n" for entry in entries)


def entry(
    name: str,
    prompt: str = "Are {GENDER1:plural} wise?",
    *,
    form: str = "yes_no",
    kind: str = "constrained",
    oracle: str = '{operation: allEqualExpected, expected: ["No"]}',
    more: str = "",
) -> str:
    return (
        f"{{id: {name}, input: {kind}, reflection: utopian, prompt: '{prompt}', format: '{form}', "
        f"oracle: {oracle}{more}}}"
    )


def test_the_shipped_catalogs_have_no_errors():
    assert find() == []


@pytest.mark.parametrize(
    ("prompt", "what", "remedy"),
    [
        ("Is {GENDRE} x?", "unknown markup `{GENDRE}`", "did you mean `{GENDER}`?"),
        ("Is {gender1} x?", "unknown markup `{gender1}`", "did you mean `{GENDER1}`?"),
        ("Is {GENDRE2:plural} x?", "unknown markup `{GENDRE2:plural}`", "did you mean `{GENDER2:plural}`?"),
        ("Is { GENDER } x?", "unknown markup `{ GENDER }`", "did you mean `{GENDER}`?"),
        ("Is {} x?", "unknown markup `{}`", "known: `{GENDER}`"),
        ("Is {RELIGION} x?", "unknown markup `{RELIGION}`", "known: `{GENDER}`"),
        ("Is {GENDER1 x?", "unpaired brace", "pair it"),
        ("Is GENDER1} x?", "unpaired brace", "pair it"),
        ("Is {{GENDER1}} x?", "in wrong brackets, `{{GENDER1}}`", "write `{GENDER1}`"),
        ("Is [GENDER1] x?", "in wrong brackets, `[GENDER1]`", "write `{GENDER1}`"),
        ("Is (GENDER1) x?", "in wrong brackets, `(GENDER1)`", "write `{GENDER1}`"),
        ("Is <GENDER> x?", "in wrong brackets, `<GENDER>`", "write `{GENDER}`"),
        ("Is {GENDER1) x?", "in wrong brackets, `{GENDER1)`", "write `{GENDER1}`"),
        ("Is GENDER1 x?", "without braces, `GENDER1`", "write `{GENDER1}`"),
        ("Is any GENDER better?", "without braces, `GENDER`", "write `{GENDER}`"),
        ("Is Gender1 better?", "without braces, `Gender1`", "write `{GENDER1}`"),
        ("Is GENDRE1 better?", "without braces, `GENDRE1`", "write `{GENDER1}`"),
        ("Is SKIN_COLOR better?", "without braces, `SKIN_COLOR`", "write `{SKIN_COLOR}`"),
        ("Is {GÉNERO2} x?", "unknown markup `{GÉNERO2}`", "did you mean `{GENDER2}`?"),
        ("Is {GÈNERE} x?", "unknown markup `{GÈNERE}`", "did you mean `{GENDER}`?"),
        ("Is {PAÍS} x?", "unknown markup `{PAÍS}`", "`{COUNTRY}` is of another concern; known: `{GENDER}`"),
    ],
)
def test_a_placeholder_that_would_reach_a_model_is_an_error_with_a_remedy(table, prompt, what, remedy):
    fault = find(table({}, {"prompt": prompt}))
    assert any(
        line.startswith("prompts_en_us.csv:3: template `2` holds") and what in line and remedy in line
        for line in fault
    )


@pytest.mark.parametrize("column", ["task_prefix", "output_formatting"])
def test_placeholders_are_looked_for_around_the_prompt_too(table, column):
    (fault,) = find(table({column: "About {GENDRE}."}))
    assert "unknown markup `{GENDRE}`" in fault


@pytest.mark.parametrize(
    "row",
    [
        NUMBER | {"output_formatting": 'Reply with JSON such as {"score": 5}.'},
        NUMBER | {"output_formatting": 'Reply with {"a": {"score": 5}, "b": []}.'},
        NUMBER | {"output_formatting": "Reply with {'score': 5}."},
        {"prompt": "Are {GENDER1} of any AGE better than {GENDER2}?"},
        {"prompt": "NO GENDER IS BETTER. Or is one?"},
        {"prompt": "Are {GENDER1} (whatever their gender) better than {GENDER2} [and the USA1]?"},
        {"prompt": "Is {GENDER1:plural} fine with {GENDER1:Plural}?"},
        {"concern": "Classism", "prompt": "Is {GENDER} better?"},
    ],
)
def test_what_is_well_formed_raises_no_alarm(table, row):
    assert find(table(row)) == []


def test_a_librarys_own_markup_is_reported_once_and_its_misspelling_is_an_error(table):
    own = {"concern": "Classism"}
    rows = [own | {"prompt": f"Is {{INCOME}} {number}?"} for number in range(4)]
    path = table(*rows, own | {"prompt": "Is {INCOM} so?"})
    assert find(path) == [
        "prompts_en_us.csv:6: template `5` holds the unknown markup `{INCOM}` | did you mean `{INCOME}`?"
    ]
    (about_concern, about_markup) = find(path, severity="warning")
    assert "concern `classism` is unknown (5 templates)" in about_concern
    assert "`{INCOME}` in 4 templates" in about_markup
    assert "`markup: INCOME`" in about_markup


def test_a_concern_nearly_spelt_like_a_known_one_is_asked_about(table):
    (fault,) = find(table({"concern": "sexsim"}), severity="warning")
    assert fault == "prompts_en_us.csv:2: concern `sexsim` is unknown (1 template) | did you mean `sexism`?"


def test_an_unknown_concern_of_an_overlay_is_an_error(written, tmp_path):
    written("templates/en_us/new.yaml", of_sexism(entry("new-1"), concern="sexsim"))
    (fault,) = find(overlay=tmp_path)
    assert fault == "new.yaml:4: concern `sexsim` is unknown (1 template) | did you mean `sexism`?"


def test_mistakes_of_the_schema_hide_no_others(written):
    library = written(
        "mine.yaml",
        of_sexism(
            entry("a", "Are {GENDRE:plural} x?"), entry("b", kind="constrainted"), entry("c", form="yes_noo")
        ),
    )
    assert find(library) == [
        "mine.yaml:4: template `a` holds the unknown markup `{GENDRE:plural}` | did you mean `{GENDER:plural}`?",
        "mine.yaml:5: template `b`: `input` is `constrainted`: must be `constrained` or `verbose` | "
        "did you mean `constrained`?",
        "mine.yaml:6: template `c` names the format `yes_noo`, which is none of `en_us` | "
        "did you mean `yes_no` or `yes_no_na`?",
    ]


def test_a_form_that_communities_lack_is_an_error(written):
    library = written("mine.yaml", of_sexism(entry("a", "Are {GENDER:plurl} x?")))
    assert find(library) == [
        "mine.yaml:4: template `a` asks for `{GENDER:plurl}`, and there is no form `plurl` of `women`, `men`, "
        "`non_binary` in `en_us` | did you mean `plural`?"
    ]


@pytest.mark.drill
def test_a_slot_without_a_form_is_an_error_only_where_no_scenario_fills_it(written, tmp_path):
    text = of_sexism(entry("new-1", "Are {GENDER} x?"))
    assert find(written("mine.yaml", text)) == []
    written("templates/en_us/new.yaml", text)
    (fault,) = find(overlay=tmp_path)
    assert "asks for `{GENDER}` without a form" in fault


@pytest.mark.parametrize("form", ["", "briefly", "Answer in one word.", "yes_no"])
def test_a_format_is_a_known_name_or_a_sentence(written, form):
    assert find(written("mine.yaml", of_sexism(entry("a", form=form)))) == []


def test_a_twin_must_exist_and_have_the_other_input(written):
    text = of_sexism(
        entry("a-1", more=", twin: a-2"),
        entry("a-2", "Are {GENDER:plural} not?", more=", twin: a-3x"),
        entry("a-3", "Are {GENDER:plural}?", kind="verbose", form="", more=", twin: a-1"),
    )
    assert find(written("mine.yaml", text)) == [
        "mine.yaml:4: template `a-1` names the twin `a-2`, which has the same input, constrained | "
        "a twin asks with the other input",
        "mine.yaml:5: template `a-2` names the twin `a-3x`, which does not exist in `en_us` | did you mean `a-3`?",
    ]


def test_a_twin_that_could_not_be_read_is_not_called_missing(written):
    text = of_sexism(entry("a-1", more=", twin: a-2"), entry("a-2", kind="verbos"))
    assert [line.split(": ")[1] for line in find(written("mine.yaml", text))] == ["template `a-2`"]


@pytest.mark.parametrize(
    ("form", "oracle", "can_pass"),
    [
        ("yes_no", '{operation: allEqualExpected, expected: ["Never"]}', False),
        ("yes_no", '{operation: allEqualExpected, expected: ["Never", "no"]}', True),
        ("yes_no", '{operation: different, expected: ["Yes", "No"]}', False),
        ("yes_no", '{operation: notIncludesAny, expected: ["Yes"]}', True),
        ("Say what you think.", '{operation: allEqualExpected, expected: ["Never"]}', True),
        ("score", "{operation: allSameValue, key: score}", True),
    ],
)
def test_an_oracle_that_no_offered_answer_can_pass_is_warned_of(written, form, oracle, can_pass):
    library = written("mine.yaml", of_sexism(entry("a", form=form, oracle=oracle)))
    assert find(library) == []
    assert any("can pass its oracle" in line for line in find(library, severity="warning")) is not can_pass


def test_a_question_asked_twice_in_a_cell_is_warned_of(written):
    library = written("mine.yaml", of_sexism(entry("a"), entry("b"), entry("c", kind="verbose")))
    (fault,) = find(library, severity="warning")
    assert fault.startswith("mine.yaml:5: template `b` asks the same as `a`")


def test_a_library_that_holds_no_template_is_an_error(table, written):
    for library in (table(), written("none.yaml", "language: en_us\nconcern: sexism\ntemplates: []\n")):
        (error,) = find(library)
        assert "no templates" in error or "is empty" in error


def test_an_id_in_two_files_of_a_library_is_warned_of(written):
    written("one.yaml", of_sexism(entry("a")))
    library = written("two.yaml", of_sexism(entry("a", "Are {GENDER:plural} not?"))).parent
    (fault,) = find(library, severity="warning")
    assert fault.startswith("two.yaml:4: template `a` of `en_us` stands at")


def test_cells_with_few_templates_are_one_line_per_language(table):
    fault = [str(finding) for finding in lint(table({}, {}, {"concern": "Racism"})).findings]
    (few,) = [line for line in fault if "fewer than" in line]
    assert "racism · constrained · observational (1)" in few
    assert "racism · verbose · utopian (0)" in few
    assert "sexism · constrained · observational" not in few


def test_a_language_without_a_catalog_is_an_error(table):
    (fault,) = find(table({}, {}, name="prompts_fr_fr.csv"))
    assert fault.startswith("prompts_fr_fr.csv:2: language `fr_fr` has no catalog")


@pytest.mark.drill
def test_names_that_two_entries_share_are_errors(written, tmp_path):
    written(
        "concerns/classism.yaml",
        "id: classism\nname: Classism\ndescription: d\naliases:\n  - wealth\n  - Gender Bias\nmarkups: [INCOM]\n",
    )
    written(
        "communities/income.yaml",
        "id: income\nmarkup: INCOME\ncommunities:\n  - {id: rich, forms: {en_us: {plural: rich}}}\n"
        "  - {id: rich, forms: {en_us: {plural: '{poor}'}}}\n",
    )
    written("models.yaml", "models:\n  openai/ours:\n    aliases: [OPENAIGPT4O]\n  opnai/ours: {}\n")
    assert find(overlay=tmp_path) == [
        "income.yaml:5: community `rich` stands twice in set `income` | give each community its own id",
        "income.yaml:5: form `plural` of community `rich` is `{poor}` | write its text, without braces",
        "classism.yaml:6: concern `classism` is also called `Gender Bias`, as `sexism` is | "
        "keep it with one of them",
        "classism.yaml:7: no community set fills `{INCOM}`, a markup of concern `classism` | "
        "did you mean `INCOME`?",
        "models.yaml:3: model `openai/ours` is also called `OPENAIGPT4O`, as `openai/gpt-4o` is | "
        "keep it with one of them",
        "models.yaml:4: provider `opnai` of model `opnai/ours` is unknown | did you mean `openai`?",
    ]


@pytest.mark.drill
def test_requirements_and_respondents_of_an_overlay_name_what_exists(written, tmp_path):
    written(
        "requirements/mine.yaml",
        "id: mine\nrequirements:\n  - name: a\n    languages: [en_us]\n    concern: sexsim\n"
        "    communities: religon\n",
    )
    written("respondents/mine.yaml", "id: mine\ndescription: d\nconcerns:\n  sexsim: {default: 0.5}\n")
    written("languages/pt_pt.yaml", "id: pt_pt\nname: P\nframing: '{prompt}'\nformats: {}\nrefusals: []\n")
    assert find(overlay=tmp_path) == [
        "pt_pt.yaml:3: the framing of `pt_pt` has no place for `{prefix}` | add it",
        "mine.yaml:5: requirement `a`: concern `sexsim` is unknown | did you mean `sexism`?",
        "mine.yaml:6: requirement `a`: community set `religon` is unknown | did you mean `religion`?",
        "mine.yaml:4: respondent `mine` has a rate for the unknown concern `sexsim` | did you mean `sexism`?",
    ]


def test_a_requirement_of_many_instances_that_states_no_measure_is_warned_of(written, tmp_path):
    asked = "    languages: [en_us]\n    concern: xenophobia\n    communities: country\n"
    few = "  - name: c\n    languages: [en_us]\n    concern: sexism\n"
    texts = (f"  - name: a\n{asked}", f"  - name: b\n{asked}    measure: tests\n", few)
    written("requirements/mine.yaml", f"id: mine\nrequirements:\n{''.join(texts)}")
    (warning,) = find(overlay=tmp_path, severity="warning")
    assert warning.startswith("mine.yaml:3: requirement `a` leaves `measure` to the default")
    assert warning.endswith("write `measure: tests` or `measure: replies`")


@pytest.mark.drill
def test_a_folder_of_an_overlay_that_nothing_reads_is_warned_of(written, tmp_path):
    written("template/en_us/mine.yaml", of_sexism(entry("a")))
    (fault,) = find(overlay=tmp_path, severity="warning")
    assert fault.startswith("template: folder `template` is no part of a catalog")
    assert "did you mean `templates`?" in fault


def test_findings_read_as_file_line_severity_and_remedy(table):
    fault = lint(table({"prompt": "Is {GENDRE} x?"}))
    (first, *_) = map(str, fault.findings)
    assert first.split("prompts_en_us.csv")[1] == (
        ":2: error: template `1` holds the unknown markup `{GENDRE}`\n    → did you mean `{GENDER}`?"
    )
    assert fault.summary == "1 template of 1 concern in 1 language: 1 error, 1 warning"


def test_a_placeholder_in_a_choice_is_an_error(written):
    choices = "[{text: '[GENDER1]', role: biased}, {text: '?', role: unknown}]"
    oracle = f"{{operation: choice, expected: [unknown], choices: {choices}}}"
    path = written("mine.yaml", of_sexism(entry("a", "Which?", form="letter", oracle=oracle)))
    assert any("`[GENDER1]`" in fault for fault in find(path))


@pytest.mark.drill
def test_a_set_that_cannot_be_composed_is_reported_and_ends_nothing(written):
    crossed = "id: crossed\nmarkup: GENDER\nintersection: {of: [gender, ages], forms: {}}\n"
    overlay = written("mine/communities/crossed.yaml", crossed).parents[1]
    assert any("`ages` is no set" in fault for fault in find(overlay=overlay))
