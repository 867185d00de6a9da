import math
import runpy
from pathlib import Path

import pytest

import tradeoff as to
from tradeoff import mechanisms as m
from tradeoff.errors import DomainError, PlanError
from tradeoff.spec.plan_file import find_number, find_table, replace_number

LAPLACE = '\n[[mechanism]]  # one\nkind = "laplace"\nscale = 1\n'
NESTED = '\n[[mechanism]]\nkind = "subsampled"\nsample_rate = 0.1\n[mechanism.mechanism]\nkind = "laplace"\n'
FULL = """
title = "all kinds"
adjacency = "add-remove"
delta = [1e-5, 0]
epsilon = [-1, inf]
alpha = 0.05

[[mechanism]]
kind = "gaussian"
noise_multiplier = 8
sensitivity = [1, 2.5]
count = 10

[[mechanism]]
kind = "laplace"
scale = inf

[[mechanism]]
kind = "subsampled"
sample_rate = 0.25
[mechanism.mechanism]
kind = "laplace"
scale = 10
sensitivity = 2.0

[[mechanism]]
kind = "tree-aggregation"
noise_multiplier = 2
steps = 8
completion = true

[[mechanism]]
kind = "custom"
curve = '{"schema": 1, "tradeoff": {"kind": "piecewise-linear", "alpha": [0, "1/3", 1], "beta": [1, "1/3", 0]}}'

[[mechanism]]
kind = "discrete-laplace"
scale = 2
count = 0
"""


def one(lines, head=""):
    return f"{head}\n[[mechanism]]\n{lines}\n"


def nested(n):
    """Write a plan of one mechanism that holds n others, one inside another."""
    head = '{kind = "subsampled", sample_rate = 0.5, mechanism = '
    return "mechanism = [" + head * n + '{kind = "laplace", scale = 1}' + "}" * n + "]"


def test_loads_reads_every_entry():
    content = to.spec.loads(FULL)
    assert content.title == "all kinds"
    assert (content.delta, content.epsilon, content.alpha) == ((1e-5, 0.0), (-1.0, math.inf), (0.05,))
    third = to.spec.loads(FULL).plan.mechanisms
    assert content.plan == to.Plan(
        {
            m.Gaussian(noise_multiplier=8, sensitivity=(1, 2.5)): 10,
            m.Laplace(scale=math.inf): 1,
            m.Subsampled(m.Laplace(10, sensitivity=2), 0.25): 1,
            m.TreeAggregation(2, steps=8, completion=True): 1,
            next(each for each in third if isinstance(each, m.Custom)): 1,
            m.DiscreteLaplace(scale=2): 0,
        }
    )


def test_loads_fills_defaults():
    content = to.spec.loads(one('kind = "laplace"\nscale = 1'))
    assert (content.title, content.delta, content.epsilon, content.alpha) == ("", (), (), ())
    assert content.plan == to.Plan({m.Laplace(scale=1, sensitivity=1): 1}, adjacency="add-remove")


def test_loads_adds_counts_of_equal_mechanisms():
    entry = one('kind = "laplace"\nscale = 1\ncount = 2')
    assert to.spec.loads(entry + entry).plan == to.Plan({m.Laplace(scale=1): 4})


def test_dumps_reads_back_equal():
    content = to.spec.loads(FULL)
    assert to.spec.loads(to.spec.dumps(content)) == content


@pytest.mark.parametrize("kind", m.KINDS)
def test_examples_of_every_kind_have_a_form(kind):
    assert to.spec.plan_file.MECHANISMS[kind].type is m.KINDS[kind]


@pytest.mark.parametrize("title", ["", 'quo"ted \\ back', "two\nlines", "ε ≤ δ", "del \x7f", "tab\t", "1/3"])
def test_dumps_escapes_titles(title):
    content = to.spec.PlanFile(title, to.Plan({m.Laplace(scale=1): 1}, adjacency="replace-one"))
    assert to.spec.loads(to.spec.dumps(content)) == content


BAD = [
    ("", "mechanism must be at least one table [[mechanism]]"),
    ("mechanism = []", "mechanism must be at least one table"),
    ('[mechanism]\nkind = "laplace"', "with double brackets"),
    ("mechanism = [3]", "mechanism must be at least one table"),
    (one("scale = 1"), "mechanism[1].kind = None is not known; allowed: gaussian, laplace"),
    (one('kind = "gausian"'), "kind = 'gausian' is not known; allowed: gaussian, "),
    (one('kind = "gausian"'), "; did you mean gaussian?"),
    (one("kind = 3"), "mechanism[1].kind = 3 is not known"),
    (one('kind = "laplace"'), "mechanism[1].scale is missing"),
    (one('kind = "gaussian"\nnoise_multiplyer = 1'), "; did you mean noise_multiplier?"),
    (one('kind = "laplace"\nscale = "1"'), "mechanism[1].scale must be one real number, got '1'"),
    (one('kind = "laplace"\nscale = true'), "mechanism[1].scale must be one real number, got True"),
    (one('kind = "laplace"\nscale = [1]'), "mechanism[1].scale must be one real number, got [1]"),
    (one('kind = "laplace"\nscale = {x = 1}'), "mechanism[1].scale.kind = None"),
    (one('kind = "laplace"\nscale = 2020-01-01'), "mechanism[1].scale must be one real number"),
    (one('kind = "laplace"\nscale = nan'), "mechanism[1].scale must be in (0, inf], got nan"),
    (one('kind = "laplace"\nscale = 0'), "mechanism[1].scale must be in (0, inf], got 0"),
    (one(f'kind = "laplace"\nscale = {10**400}'), "mechanism[1].scale must be in (0, inf], got 1000"),
    (
        one('kind = "subsampled-gaussian"\nnoise_multiplier = 1\nsample_rate = 1.5'),
        "sample_rate must be in [0, 1]",
    ),
    (one('kind = "laplace"\nscale = 1\ncount = -1'), "mechanism[1].count must be an integer from 0"),
    (one('kind = "laplace"\nscale = 1\ncount = 1.5'), "mechanism[1].count must be an integer"),
    (one('kind = "laplace"\nscale = 1\ncount = true'), "mechanism[1].count must be an integer"),
    (one('kind = "laplace"\nscale = 1\ncount = "3"'), "mechanism[1].count must be an integer"),
    (one('kind = "laplace"\nscale = 1\ncount = 1000000000001'), "mechanism[1].count must be an integer"),
    (one('kind = "discrete-gaussian"\nsigma = 1\nsensitivity = 0.5'), "mechanism[1].sensitivity must be"),
    (one('kind = "exponential-mechanism"\nepsilon = "x"'), "mechanism[1].epsilon must be"),
    (one('kind = "report-noisy-max"\nepsilon = 1\nnoise = "cauchy"'), "mechanism[1].noise must be one of"),
    (
        one('kind = "custom"\ncurve = 3'),
        "mechanism[1].curve must be a curve as JSON, or the name of a file, got 3",
    ),
    (one('kind = "custom"\ncurve = "{}"'), "mechanism[1].curve: a saved file must hold"),
    (one('kind = "custom"\ncurve = "missing.json"'), "missing.json: cannot be read: No such file"),
    (
        one('kind = "custom"\ncurve = \'{"schema": 1, "tradeoff": 3}\''),
        "mechanism[1].curve: 3 is not a trade-off",
    ),
    (
        one('kind = "custom"\ncurve = \'{"schema": 1, "tradeoff": {"kind": "gaussian", "mu": 1e-400}}\''),
        "1e-400",
    ),
    (one('kind = "laplace"\nscale = 1', "adjacency = 'bounded'"), "adjacency must be one of 'add-remove',"),
    (one('kind = "laplace"\nscale = 1', "title = 1"), "title must be a text, got 1"),
    (one('kind = "laplace"\nscale = 1', "delta = 2"), "delta must be in [0, 1], got 2"),
    (one('kind = "laplace"\nscale = 1', "delta = [0.1, [0.2]]"), "delta must be one real number, got [0.2]"),
    (one('kind = "laplace"\nscale = 1', "epsilon = nan"), "epsilon must be in [-inf, inf], got nan"),
    (one('kind = "laplace"\nscale = 1', "alpha = ['0.1']"), "alpha must be one real number, got '0.1'"),
    (
        one('kind = "laplace"\nscale = 1', "deltas = 1"),
        "deltas is not known; allowed: title, adjacency, delta",
    ),
    (
        one(
            'kind = "subsampled-gaussian"\nnoise_multiplier = 1\nsample_rate = 0.5',
            "adjacency = 'replace-one'",
        ),
        "mechanism[1].kind must be stated for replace-one neighbours, got 'subsampled-gaussian'; set adjacency",
    ),
    ("title = ", "is not valid TOML"),
    ("[[mechanism]\n", "is not valid TOML"),
    ("a = 1\na = 2", "is not valid TOML"),
    (
        LAPLACE + "scael = 1\n",
        "line 5: mechanism[1].scael is not known; allowed: scale, sensitivity; did you mean scale?",
    ),
    ("alpha = 0.1\ndetla = 1\n" + LAPLACE, "line 2: detla is not known"),
    ("delta = [\n  1e-5,\n  2,\n]\n" + LAPLACE, "line 1: delta must be in [0, 1], got 2"),
    (
        LAPLACE + LAPLACE.replace("scale = 1", "scale = -1"),
        "line 8: mechanism[2].scale must be in (0, inf], got -1",
    ),
    (
        LAPLACE + '[[mechanism]]\r\nkind = "laplace"\r\n# more\r\ncount = 2\r\n',
        "line 5: mechanism[2].scale is missing",
    ),
    (
        LAPLACE + '[[mechanism]]\r\nkind = "laplace"\r\n# more\r\nscale = 0\r\n',
        "line 8: mechanism[2].scale must be",
    ),
    (NESTED + "scale = -1\n", "line 5: mechanism[1].mechanism.scale must be"),
    (NESTED + "scale = 1\ncount = 3\n", "line 5: mechanism[1].mechanism.count is not known"),
    (
        NESTED.replace("sample_rate = 0.1\n", "") + "scale = 1\n",
        "line 2: mechanism[1].sample_rate is missing",
    ),
    ("mechanism = 3\n", "line 1: mechanism must be"),
    ("title = '''\n[[mechanism]]\n'''" + LAPLACE.replace("1", "-1"), "plan.toml: mechanism[1].scale must be"),
    ('mechanism = [\n{kind = "laplace", scale = -1}]', "plan.toml: mechanism[1].scale must be"),
    (
        one('kind = "gaussian"\nnoise_multiplier = 1\nsensitivity = [\n1,\n-1,\n]'),
        "line 5: mechanism[1].sensitivity[2]",
    ),
    ('"mechanism[99]" = 1\n' + LAPLACE, "mechanism[99] is not known"),
]
HOSTILE = [
    ("a = " + "[" * 10**5, "so deeply"),
    ("a = " + "{a = " * 50_000, "so deeply"),
    (LAPLACE + "count = " + "1" * 5000, "is not valid TOML"),
    (LAPLACE + "count = 0x" + "f" * 5000, "mechanism[1].count must be an integer"),
    (".".join("a" * 200_000) + " = 1", "a key must have fewer than 32 parts"),
    ("[" + " . ".join("a" * 200_000) + "]", "a key must have fewer than 32 parts"),
    (".".join(['"\\""'] * 100_000) + " = 1", "a key must have fewer than 32 parts"),
    ("a" * 900_000, "is not valid TOML"),
    ("a" + " " * 900_000, "is not valid TOML"),
    ('"' + "\\" * 900_000, "is not valid TOML"),
    ('"' + "x" * 10**6 + '" = 1', "is not known"),
    ("x" * (2**20 + 1), "must have at most 1,048,576 characters"),
    (nested(17), "must nest at most 16 mechanisms, got 17"),
    (nested(300), "must nest at most 16 mechanisms"),
    (nested(5_000), "so deeply"),
]


@pytest.mark.parametrize(("content", "message"), [*BAD, *HOSTILE], ids=lambda value: value[:40])
def test_load_of_a_wrong_file_names_file_line_and_entry(tmp_path, content, message):
    (path := tmp_path / "plan.toml").write_text(content, encoding="utf-8", newline="")
    with pytest.raises(PlanError) as error:
        to.spec.load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 1100


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1_0e3_99", "1e-400", "0.003E-999"])
@pytest.mark.parametrize("entry", ["scale = {}", "scale = 1\nsensitivity = {}"])
def test_loads_of_numbers_outside_the_floats_is_refused(number, entry):
    with pytest.raises(PlanError, match=f"plan: {number} is outside the range of floats"):
        to.spec.loads(one('kind = "laplace"\n' + entry.format(number)))


@pytest.mark.parametrize("number", ["0.0", "0e5", "0.0E-999", "5e-324", "inf", "+inf", "1.7e308"])
def test_loads_of_numbers_inside_the_floats_is_exact(number):
    assert to.spec.loads(f"epsilon = {number}\n{LAPLACE}").epsilon == (float(number),)


@pytest.mark.parametrize(
    "content",
    [LAPLACE + "count = 1_000_000_000_000", nested(16), 'title = "www.a.b.c.d.example.org"' + LAPLACE],
)
def test_loads_within_the_limits_is_read(content):
    assert to.spec.loads(content).plan.mechanisms


def test_load_finds_curves_next_to_the_plan(tmp_path):
    to.save(to.Gaussian(1), tmp_path / "mine.json")
    (tmp_path / "plan.toml").write_text(one('kind = "custom"\ncurve = "mine.json"'), encoding="utf-8")
    assert to.spec.load(tmp_path / "plan.toml").plan == to.Plan({m.Custom(to.Gaussian(1)): 1})


def test_load_of_unreadable_files_is_refused(tmp_path):
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe9"')
    for name, reason in (
        ("missing.toml", "No such file"),
        (".", "Is a directory"),
        ("latin.toml", "not UTF-8"),
    ):
        with pytest.raises(PlanError, match=f"cannot be read: .*{reason}"):
            to.spec.load(tmp_path / name)


def test_dump_reads_back_equal(tmp_path):
    content = to.spec.loads(FULL)
    to.spec.dump(content, tmp_path / "plan.toml")
    assert to.spec.load(tmp_path / "plan.toml") == content
    with pytest.raises(DomainError, match="cannot be written"):
        to.spec.dump(content, tmp_path / "no" / "plan.toml")


def test_dumps_of_wrong_contents_is_refused():
    mine = type("Mine", (m.Gaussian,), {})(1.0)
    for plan in ({}, {mine: 1}, {m.BestOfRuns(mine, mean=2, shape=1): 1}):
        with pytest.raises(PlanError, match="must"):
            to.spec.dumps(to.spec.PlanFile("", to.Plan(plan)))
    with pytest.raises(PlanError, match="content must be PlanFile"):
        to.spec.dumps(to.Plan({m.Gaussian(1): 1}))
    with pytest.raises(DomainError, match="cannot be saved"):
        to.spec.dumps(to.spec.PlanFile("", to.Plan({m.Custom(to.Gaussian(1).symbolic()): 1})))


@pytest.mark.parametrize("entries", [{"plan": 3}, {"title": 1}, {"delta": 2.0}, {"alpha": (0.1, math.nan)}])
def test_plan_file_of_wrong_entries_is_refused(entries):
    with pytest.raises((PlanError, DomainError), match=f"^{next(iter(entries))}.* must be"):
        to.spec.PlanFile(**{"title": "", "plan": to.Plan({}), **entries})


def test_find_table_returns_the_span_of_each_table():
    content = LAPLACE + NESTED + "scale = 1\n"
    assert [content[slice(*find_table(content, k))].count("kind") for k in (1, 2)] == [1, 2]
    assert find_table("title = '''\n[[mechanism]]\n'''" + LAPLACE, 1) is None


def test_replace_number_changes_nothing_else():
    text = '[[mechanism]]\r\nkind = "gaussian"\r\n noise_multiplier=1.0# σ\r\n'
    assert replace_number(text, "mechanism[1].noise_multiplier", 2.5) == text.replace("1.0", "2.5")
    assert replace_number(text, "mechanism[1].count", 9) == text.replace("kind", "count = 9\r\nkind")
    assert replace_number(LAPLACE + LAPLACE, "mechanism[2].scale", 3) == LAPLACE + LAPLACE.replace("1", "3")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (
            "mechanism[3].scale",
            r"one of mechanism\[1\].KEY to mechanism\[1\].KEY, got 'mechanism\[3\].scale'",
        ),
        ("mechanism[0].scale", "one of mechanism"),
        ("scale", "one of mechanism"),
        ("mechanism[1].kind", "KEY one of count, scale, sensitivity"),
        ("mechanism[1]", "KEY one of count"),
    ],
)
def test_find_number_of_a_wrong_place_is_refused(place, message):
    with pytest.raises(DomainError, match=message):
        find_number(LAPLACE, place)


def test_find_number_tells_integers_from_floats():
    content = one('kind = "discrete-gaussian"\nsigma = 1')
    keys = {"count": True, "sensitivity": True, "sigma": False}
    assert {key: find_number(content, f"mechanism[1].{key}")[2] for key in keys} == keys


def test_replace_number_of_an_inline_table_is_refused():
    with pytest.raises(DomainError, match=r"on a line of its own below \[\[mechanism\]\]"):
        replace_number('mechanism = [{kind = "laplace", scale = 1}]', "mechanism[1].scale", 2)


class TestExamples:
    folder = Path(__file__).parents[2] / "examples"

    def test_load_of_the_examples_returns_their_plans(self):
        assert to.spec.load(self.folder / "dpsgd-mnist.toml").plan == to.Plan(
            {m.SubsampledGaussian(noise_multiplier=1.1, sample_rate=256 / 60000): 14062}
        )
        assert to.spec.load(self.folder / "mixed.toml").plan == to.Plan(
            {
                m.Laplace(scale=10): 50,
                m.SubsampledGaussian(noise_multiplier=2, sample_rate=0.02): 200,
                m.Gaussian(noise_multiplier=8): 10,
                m.PureDP(epsilon=0.3): 5,
            }
        )

    def test_census_budget_adds_up_to_the_published_rho(self):
        content = to.spec.load(self.folder / "census2020.toml")
        mechanisms = content.plan.mechanisms
        assert sum(mechanisms.values()) == 2 * 65
        assert (content.plan.adjacency, content.delta) == ("replace-one", (1e-10,))
        rho = math.fsum(n / (2 * each.sigma**2) for each, n in mechanisms.items())
        assert rho == pytest.approx(293764 / 114921, rel=1e-14)
        variances = [each.sigma**2 for each in mechanisms]
        assert min(variances) == pytest.approx(1.2092, abs=5e-5)
        assert max(variances) == pytest.approx(7963.3, abs=0.05)

    def test_census_script_writes_the_example(self, tmp_path):
        script = tmp_path / "write_census2020.py"
        script.write_text((self.folder / "write_census2020.py").read_text(encoding="utf-8"), encoding="utf-8")
        runpy.run_path(str(script), run_name="__main__")
        assert (tmp_path / "census2020.toml").read_bytes() == (self.folder / "census2020.toml").read_bytes()
