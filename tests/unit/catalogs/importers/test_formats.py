"""Which format a file looks like."""

import pytest

from biasgrid.catalogs.importers.formats import looks_like


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"example_id": 1, "answer_info": {}}\n', "bbq"),
        (",sent_more,sent_less,stereo_antistereo,bias_type\n", "crows-pairs"),
        ("category,dataset,A,B,C\n", "iat"),
        (",Provider,Model,Instance,Response\n", "responses"),
        ('{"messages": []}\n', "responses"),
        (",Scenarios\n", "interactions"),
        (",Scene,Characters\n", "interactions"),
        ('{\n"nTemplates": 3\n}', "langbite"),
        (
            "prompt_id\tconcern\tinput_type\treflection_type\ttask_prefix\tprompt\toutput_formatting\toracle"
            "\toracle_prediction\n",
            "langbite",
        ),
        ("one,two\n", None),
        ("", None),
    ],
)
def test_a_first_line_identifies_the_format(text, name):
    assert looks_like(text) == name
