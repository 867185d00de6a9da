"""Errors name the line where the entry stands, or none: never another."""

import tomllib

import pytest

import tradeoff as to
from tradeoff.errors import PlanError
from tradeoff.spec.editing import replaced
from tradeoff.spec.places import span

GOOD = 'title = """\n[[mechanism]]\n"""  # a head in a text is none\n\ndelta = [\n  1e-5,\n]\n'
LAPLACE = '\n[[mechanism]]  # one\nkind = "laplace"\nscale = 1\n'
NESTED = '\n[[mechanism]]\nkind = "subsampled"\nsample_rate = 0.1\n[mechanism.mechanism]\nkind = "laplace"\n'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (LAPLACE + "detla = 1\n", "line 5: mechanism[1].detla is no known key"),
        ("alpha = 0.1\ndetla = 1\n" + LAPLACE, "line 2: detla is no known key"),
        ("delta = [\n  1e-5,\n  2,\n]\n" + LAPLACE, "line 1: delta[2] = 2"),
        (LAPLACE + LAPLACE.replace("scale = 1", "scale = -1"), "line 8: mechanism[2].scale must be"),
        (
            LAPLACE + '[[mechanism]]\r\nkind = "laplace"\r\n# more\r\ncount = 2\r\n',
            "line 5: mechanism[2].scale is",
        ),
        (
            LAPLACE + '[[mechanism]]\r\nkind = "laplace"\r\n# more\r\nscale = 0\r\n',
            "line 8: mechanism[2].scale must be",
        ),
        (NESTED + "scale = -1\n", "line 5: mechanism[1].mechanism.scale must be"),
        (NESTED + "scale = 1\ncount = 3\n", "line 5: mechanism[1].mechanism.count = 3"),
        ("adjacency = 3\n" + LAPLACE, "line 1: adjacency = 3"),
        ("mechanism = 3\n", "line 1: mechanism is not an array"),
        (
            GOOD + LAPLACE.replace("1", "-1"),
            "plan: mechanism[1].scale must be",
        ),  # as many heads as cannot be told apart
        ('mechanism = [\n{kind = "laplace", scale = -1}]', "plan: mechanism[1].scale must be"),
        (
            '[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = 1\nsensitivity = [\n1,\n-1,\n]\n',
            "line 4: mechanism[1].sensitivity[2] must be",
        ),
    ],
)
def test_the_line_of_an_entry(content, said):
    with pytest.raises(PlanError) as error:
        to.spec.loads(content)
    assert said in str(error.value)
    assert str(error.value).startswith("plan: ")


def test_what_cannot_be_told_apart_has_no_span():
    assert to.spec.loads(GOOD + LAPLACE).title.startswith("[[mechanism]]")
    assert span(GOOD + LAPLACE, 0) is None
    content = LAPLACE + NESTED + "scale = 1\n"
    tables = tomllib.loads(content)["mechanism"]
    for index, table in enumerate(tables):
        start, end = span(content, index)
        assert tomllib.loads(content[start:end])["mechanism"] == [table]


def test_a_key_left_out_ends_as_the_lines_beside_it():
    text = '[[mechanism]]\r\nkind = "gaussian"\r\nnoise_multiplier = 1.0\r\n'
    found = replaced(text, "mechanism[1].count", 9)
    assert found.count("\n") == found.count("\r\n") == 4


@pytest.mark.parametrize(
    "content",
    [
        '"mechanism[99]" = 1\n[[mechanism]]\nkind = "laplace"\nscale = 1\n',
        '"mechanism[1]" = 1\n',
        '"mechanism[1]" = 1\nmechanism = 3\n',
    ],
)
def test_keys_that_look_like_places_are_one_sentence(content):
    with pytest.raises(PlanError, match="known key"):
        to.spec.loads(content)
