"""Files made to keep their reader busy end in one sentence."""

import json
from pathlib import Path

import pytest

import tradeoff as to
from tradeoff.errors import DomainError, PlanError
from tradeoff.spec.limits import LIMITS

ENTRY = '[[mechanism]]\nkind = "laplace"\nscale = 10\n'
LETTERS = "more than 1,048,576 letters are refused; set TRADEOFF_MAX_LETTERS to allow more"
DEEP = "is nested too deeply"
KEY = "a key of 32 parts is refused"


def nested(n):
    """Write a plan of one mechanism that holds n others, one inside another."""
    head = '{kind = "subsampled", sample_rate = 0.5, mechanism = '
    return "mechanism = [" + head * n + '{kind = "laplace", scale = 1}' + "}" * n + "]"


BOMBS = [
    pytest.param("a = " + "[" * 10**5, DEEP, id="arrays in arrays"),
    pytest.param("a = " + "{a = " * 50_000, DEEP, id="tables in tables"),
    pytest.param(
        "delta = " + "[" * 200 + "]" * 200 + "\n" + ENTRY, "delta[1] = [[[", id="arrays that can be read"
    ),
    pytest.param(ENTRY + "count = " + "1" * 5000, "an integer of thousands of digits", id="digits"),
    pytest.param(ENTRY + "count = 0x" + "f" * 5000, "mechanism[1].count = 0xfff", id="hexadecimal digits"),
    pytest.param(ENTRY + "count = -0x" + "f" * 5000, "is not valid TOML", id="negative hexadecimal digits"),
    pytest.param(
        ENTRY + "count = [0x" + "f" * 5000 + "]",
        "mechanism[1].count = ... (an array)",
        id="hexadecimal digits in an array",
    ),
    pytest.param(ENTRY + f"count = {2**63}", "allowed: a whole number below 2^63", id="a count beyond TOML"),
    pytest.param(
        ENTRY + "count = 1e30", "allowed: a whole number below 2^63", id="a whole float beyond TOML"
    ),
    pytest.param(".".join("a" * 200_000) + " = 1", KEY, id="a dotted key"),
    pytest.param("[" + " . ".join("a" * 200_000) + "]", KEY, id="a dotted header"),
    pytest.param(".".join(['"\\""'] * 100_000) + " = 1", KEY, id="a dotted key in quotes"),
    pytest.param("a" * 900_000, "is not valid TOML", id="a long word"),
    pytest.param("a" + " " * 900_000, "is not valid TOML", id="a long gap"),
    pytest.param('"' + "\\" * 900_000, "is not valid TOML", id="a string without an end"),
    pytest.param('"' + "x" * 10**6 + '" = 1', "... is no known key", id="a long key"),
    pytest.param(
        f'title = "{"x" * 1001}"\n{ENTRY}',
        "more than 1,000 letters of title",
        id="a title that fills the figure",
    ),
    pytest.param(f'title = "{"x" * 2**21}"\n{ENTRY}', LETTERS, id="a title that fills the file"),
    pytest.param("delta = [" + "0," * 10_001 + "]\n" + ENTRY, "more than 10,000 questions", id="questions"),
    pytest.param(
        nested(17), "mechanism[1] must nest at most 16 mechanisms", id="one mechanism more than 16 inside"
    ),
    pytest.param(nested(300), "mechanism[1] must nest at most 16 mechanisms", id="300 nested mechanisms"),
    pytest.param(nested(5_000), DEEP, id="5,000 nested mechanisms"),
    pytest.param("mechanism = [" + '{kind="laplace",scale=1},' * 10**5 + "]", LETTERS, id="equal mechanisms"),
]


@pytest.mark.parametrize(("content", "named"), BOMBS)
def test_bombs_are_refused_in_one_sentence(content, named):
    with pytest.raises(PlanError) as error:
        to.spec.loads(content)
    message = str(error.value)
    assert message.startswith("plan: ")
    assert named in message
    assert len(message) < 300


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="a device of POSIX")
def test_an_endless_file_is_read_no_further_than_needed():
    with pytest.raises(PlanError, match="/dev/zero: more than 1,048,576 letters"):
        to.spec.load("/dev/zero")


@pytest.mark.parametrize(
    "content",
    [
        f"{ENTRY}count = {2**63 - 1}",
        nested(16),
        f'title = "{"x" * 1000}"\n{ENTRY}',
        f'title = "see www.a.b.c.d.example.org, and 1.2.3.4"\n{ENTRY}',
        "delta = [" + "0.5, " * 10_000 + "]\n" + ENTRY,
    ],
)
def test_what_lies_within_the_limits_is_read(content):
    assert to.spec.loads(content).plan.mechanisms


def test_the_environment_moves_a_limit(monkeypatch):
    titled = f'title = "{"x" * 1001}"\n{ENTRY}'
    monkeypatch.setenv("TRADEOFF_MAX_TITLE", "1001")
    assert len(to.spec.loads(titled).title) == 1001
    monkeypatch.setenv("TRADEOFF_MAX_TITLE", "1000")
    with pytest.raises(PlanError, match="more than 1,000 letters of title"):
        to.spec.loads(titled)


@pytest.mark.parametrize("given", ["many", "-1", "1e6", "9" * 5000])
def test_a_limit_is_a_whole_number(monkeypatch, given):
    monkeypatch.setenv("TRADEOFF_MAX_TITLE", given)
    with pytest.raises(PlanError, match=r"TRADEOFF_MAX_TITLE = .* is no limit; give a whole number"):
        to.spec.loads(ENTRY)


def test_the_documentation_states_every_limit():
    page = (Path(__file__).parents[2] / "docs" / "command.md").read_text(encoding="utf-8")
    for name, limit in LIMITS.items():
        assert f"| `TRADEOFF_MAX_{name.upper()}` | {limit:,} |" in page


@pytest.mark.parametrize("value", ["abc", "-1"])
def test_a_limit_that_is_no_number_is_not_laid_to_the_file(monkeypatch, tmp_path, value):
    monkeypatch.setenv("TRADEOFF_MAX_LETTERS", value)
    path = tmp_path / "plan.toml"
    path.write_text(ENTRY, encoding="utf-8")
    with pytest.raises(PlanError, match="TRADEOFF_MAX_LETTERS"):
        to.spec.load(path)


@pytest.mark.parametrize("written", ["1e400", "-1e400", "1_0e3_99", "1e-400", "0.003E-999"])
@pytest.mark.parametrize("key", ["scale", "sensitivity"])
def test_numbers_outside_the_floats_are_refused(written, key):
    numbers = {"scale": "10"} | {key: written}
    entries = "".join(f"{name} = {value}\n" for name, value in numbers.items())
    with pytest.raises(PlanError, match=f"plan: {written} is outside the range of floats"):
        to.spec.loads(f'[[mechanism]]\nkind = "laplace"\n{entries}')
    with pytest.raises(PlanError, match=f"plan: {written} is outside the range of floats"):
        to.spec.loads(f"delta = [{written}]\n{ENTRY}")


@pytest.mark.parametrize("written", ["inf", "+inf"])
def test_infinite_noise_is_read_where_it_is_written(written):
    (found,) = to.spec.loads(f'[[mechanism]]\nkind = "laplace"\nscale = {written}').plan.mechanisms
    assert found == to.mechanisms.Laplace(float("inf"))


def test_mechanisms_nested_in_python_and_in_saved_files_are_limited(tmp_path):
    inner, data = to.mechanisms.Laplace(1), {"kind": "mechanism/laplace", "scale": 1.0}
    for _ in range(16):
        inner = to.mechanisms.Subsampled(inner, 0.5)
    for nest in (lambda: to.mechanisms.Subsampled(inner, 0.5), lambda: to.mechanisms.BestOfRuns(inner, 2)):
        with pytest.raises(DomainError, match="mechanism must nest at most 16 mechanisms, got 17"):
            nest()
    for _ in range(300):
        data = {"kind": "mechanism/subsampled", "mechanism": data, "sample_rate": 0.5}
    path = tmp_path / "nested.json"
    path.write_text(json.dumps({"schema": 1, "tradeoff": data}), encoding="utf-8")
    with pytest.raises(DomainError, match="nest") as error:
        to.load(path)
    assert len(str(error.value)) < 500
