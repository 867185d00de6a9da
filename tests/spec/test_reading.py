import math
import os
from pathlib import Path

import pytest

import tradeoff as to
from tradeoff import mechanisms as m
from tradeoff.errors import PlanError

FULL = """
title = "all kinds"
adjacency = "add-remove"
delta = [1e-5, 0]
epsilon = [-1, inf]
alpha = 0.05

[[mechanism]]
kind = "gaussian"
noise_multiplier = 8
count = 10

[[mechanism]]
kind = "laplace"
scale = 10

[[mechanism]]
kind = "laplace"
scale = 10
sensitivity = 2.0

[[mechanism]]
kind = "subsampled-gaussian"
noise_multiplier = 1.1
sample_rate = 0.004266666666666667
count = 14062

[[mechanism]]
kind = "subsampled-laplace"
scale = 2
sample_rate = 0.1

[[mechanism]]
kind = "randomized-response"
epsilon = 0.5

[[mechanism]]
kind = "randomized-response"
epsilon = 0.5
categories = 4

[[mechanism]]
kind = "pure-dp"
epsilon = 0.3

[[mechanism]]
kind = "approximate-dp"
epsilon = 1
delta = 1e-6

[[mechanism]]
kind = "discrete-gaussian"
sigma = 2
sensitivity = 3

[[mechanism]]
kind = "discrete-laplace"
scale = 2
count = 0
"""


def one(lines, head=""):
    return f"{head}\n[[mechanism]]\n{lines}\n"


def test_every_kind_and_question():
    found = to.spec.loads(FULL)
    assert found.title == "all kinds"
    assert found.delta == (1e-5, 0.0)
    assert found.epsilon == (-1.0, math.inf)
    assert found.alpha == (0.05,)
    assert found.plan == to.Plan(
        {
            m.Gaussian(noise_multiplier=8): 10,
            m.Laplace(scale=10): 1,
            m.Laplace(scale=10, sensitivity=2): 1,
            m.SubsampledGaussian(noise_multiplier=1.1, sample_rate=256 / 60000): 14062,
            m.SubsampledLaplace(scale=2, sample_rate=0.1): 1,
            m.RandomizedResponse(epsilon=0.5): 1,
            m.RandomizedResponse(epsilon=0.5, categories=4): 1,
            m.PureDP(epsilon=0.3): 1,
            m.ApproximateDP(epsilon=1, delta=1e-6): 1,
            m.DiscreteGaussian(sigma=2, sensitivity=3): 1,
            m.DiscreteLaplace(scale=2): 0,
        }
    )


def test_defaults():
    found = to.spec.loads(one('kind = "laplace"\nscale = 1'))
    assert (found.title, found.delta, found.epsilon, found.alpha) == ("", (), (), ())
    assert found.plan == to.Plan({m.Laplace(scale=1, sensitivity=1): 1}, adjacency="add-remove")


def test_equal_entries_add_up():
    entry = one('kind = "laplace"\nscale = 1\ncount = 2')
    assert to.spec.loads(entry + entry).plan == to.Plan({m.Laplace(scale=1): 4})


def test_what_is_written_reads_back_equal():
    found = to.spec.loads(FULL)
    assert to.spec.loads(to.spec.dumps(found)) == found


@pytest.mark.parametrize("title", ["", 'quo"ted \\ back', "two\nlines", "ε ≤ δ", "del \x7f", "tab\t"])
def test_titles_survive(title):
    content = to.spec.PlanFile(title, to.Plan({m.Laplace(scale=1): 1}, adjacency="replace-one"))
    assert to.spec.loads(to.spec.dumps(content)) == content


BAD = [
    ("", "mechanism is missing"),
    ('title = "nothing"', "mechanism is missing"),
    ("mechanism = []", "mechanism is missing"),
    ('[mechanism]\nkind = "laplace"', "write [[mechanism]], with double brackets"),
    ("mechanism = [3]", "mechanism[1] = 3 (an integer)"),
    (one("scale = 1"), "mechanism[1].kind is missing; allowed: gaussian, laplace"),
    (
        one('kind = "laplacian"\nscale = 1'),
        'mechanism[1].kind = "laplacian" (a string) is not allowed here; allowed: "gaussian", "laplace"',
    ),
    (one('kind = "Gausian"'), 'did you mean "gaussian"?'),
    (one("kind = 3"), "mechanism[1].kind = 3 (an integer)"),
    (one('kind = "laplace"'), "mechanism[1].scale is missing"),
    (
        one('kind = "laplace"\nscale = 1\nepsilon = 2'),
        "mechanism[1].epsilon is no known key; allowed: kind, scale, sensitivity, count",
    ),
    (one('kind = "gaussian"\nnoise_multiplyer = 1'), "did you mean noise_multiplier?"),
    (one('kind = "laplace"\nscale = "1"'), 'mechanism[1].scale = "1" (a string)'),
    (one('kind = "laplace"\nscale = true'), "mechanism[1].scale = true (a boolean)"),
    (one('kind = "laplace"\nscale = [1]'), "mechanism[1].scale = [1] (an array)"),
    (one('kind = "laplace"\nscale = {x = 1}'), "(a table)"),
    (one('kind = "laplace"\nscale = 2020-01-01'), "(a date or time)"),
    (one('kind = "laplace"\nscale = nan'), "mechanism[1].scale = nan (a float)"),
    (
        one('kind = "laplace"\nscale = 0'),
        "mechanism[1].scale must be in (0, inf], got 0",
    ),
    (one('kind = "laplace"\nscale = -1'), "mechanism[1].scale must be in (0, inf], got -1"),
    (one(f'kind = "laplace"\nscale = {10**400}'), "mechanism[1].scale = 1"),
    (
        one('kind = "subsampled-gaussian"\nnoise_multiplier = 1\nsample_rate = 1.5'),
        "sample_rate must be in [0, 1], got 1.5",
    ),
    (
        one('kind = "laplace"\nscale = 1\ncount = -1'),
        "mechanism[1].count must be",
    ),
    (
        one('kind = "laplace"\nscale = 1\ncount = 1.5'),
        "mechanism[1].count must be",
    ),
    (one('kind = "laplace"\nscale = 1\ncount = true'), "mechanism[1].count = true (a boolean)"),
    (one('kind = "laplace"\nscale = 1\ncount = "3"'), 'mechanism[1].count = "3" (a string)'),
    (one('kind = "discrete-gaussian"\nsigma = 1\nsensitivity = 0.5'), "mechanism[1].sensitivity must be"),
    (one('kind = "laplace"\nscale = 1') + one('kind = "laplace"\nscale = 0'), "mechanism[2].scale must be"),
    (
        one('kind = "laplace"\nscale = 1', "adjacency = 'bounded'"),
        'adjacency = "bounded" (a string) is not allowed here; allowed: "add-remove", "replace-one"',
    ),
    (one('kind = "laplace"\nscale = 1', "adjacency = 1"), "adjacency = 1 (an integer)"),
    (
        one('kind = "laplace"\nscale = 1', "title = 1"),
        "title = 1 (an integer) is not allowed here; allowed: a string",
    ),
    (
        one('kind = "laplace"\nscale = 1', "delta = 2"),
        "delta = 2 (an integer) is not allowed here; allowed: a number in [0, 1]",
    ),
    (one('kind = "laplace"\nscale = 1', "delta = [0.1, -0.1]"), "delta[2] = -0.1 (a float)"),
    (one('kind = "laplace"\nscale = 1', "delta = [true]"), "delta[1] = true (a boolean)"),
    (one('kind = "laplace"\nscale = 1', "epsilon = nan"), "epsilon = nan (a float)"),
    (one('kind = "laplace"\nscale = 1', "alpha = ['0.1']"), 'alpha[1] = "0.1" (a string)'),
    (one('kind = "laplace"\nscale = 1', "deltas = 1"), "deltas is no known key"),
    (
        one(
            'kind = "subsampled-gaussian"\nnoise_multiplier = 1\nsample_rate = 0.5',
            "adjacency = 'replace-one'",
        ),
        (
            'mechanism[1].kind = "subsampled-gaussian" is stated for "add-remove" neighbours, '
            'and adjacency = "replace-one"'
        ),
    ),
    ("title = ", "is not valid TOML"),
    ("[[mechanism]\n", "is not valid TOML"),
    ("a = 1\na = 2", "is not valid TOML"),
]


@pytest.mark.parametrize(("content", "named"), BAD)
def test_bad_files_are_refused_in_one_line(tmp_path, content, named):
    path = tmp_path / "plan.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(PlanError) as error:
        to.spec.load(path)
    message = str(error.value)
    assert message.startswith(f"{path}: ")
    assert named in message
    assert "\n" not in message


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(PlanError, match=r"missing\.toml: cannot be read: No such file"):
        to.spec.load(tmp_path / "missing.toml")
    with pytest.raises(PlanError, match=r"cannot be read"):
        to.spec.load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe9"')
    with pytest.raises(PlanError, match=r"latin\.toml: is not UTF-8"):
        to.spec.load(tmp_path / "latin.toml")


def test_writing_is_whole_or_not_at_all(tmp_path):
    content = to.spec.loads(FULL)
    to.spec.dump(content, tmp_path / "plan.toml")
    assert to.spec.load(tmp_path / "plan.toml") == content
    with pytest.raises(PlanError, match=r"cannot be written"):
        to.spec.dump(content, tmp_path / "no" / "plan.toml")
    assert [each.name for each in tmp_path.iterdir()] == ["plan.toml"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of this kind are POSIX")
def test_pipes_are_not_replaced(tmp_path):
    os.mkfifo(pipe := tmp_path / "pipe")
    with pytest.raises(PlanError, match="is no plain file, so it is not replaced"):
        to.spec.dump(to.spec.loads(FULL), pipe)
    assert pipe.is_fifo()


def test_read_only_plans_are_not_replaced(tmp_path):
    (kept := tmp_path / "plan.toml").write_text("old", encoding="utf-8")
    kept.chmod(0o444)
    with pytest.raises(PlanError, match="is read-only, so it is not replaced"):
        to.spec.dump(to.spec.loads(FULL), kept)
    assert kept.read_text(encoding="utf-8") == "old"


def test_a_link_stays_and_leads_to_the_plan(tmp_path):
    content = to.spec.loads(FULL)
    (tmp_path / "link.toml").symlink_to(tmp_path / "plan.toml")
    to.spec.dump(content, tmp_path / "link.toml")
    assert (tmp_path / "link.toml").is_symlink()
    assert to.spec.load(tmp_path / "plan.toml") == content


def test_what_no_file_holds():
    with pytest.raises(
        PlanError, match=r"count of Laplace.* = 9223372036854775808 \(an integer\) is not allowed"
    ):
        to.spec.dumps(to.spec.PlanFile("", to.Plan({m.Laplace(scale=1): 2**63})))
    with pytest.raises(PlanError, match=r"has no mechanism"):
        to.spec.dumps(to.spec.PlanFile("", to.Plan({})))
    with pytest.raises(PlanError, match=r"delta = 2"):
        to.spec.PlanFile("", to.Plan({}), delta=(2.0,)[0])


class TestExamples:
    folder = Path(__file__).parents[2] / "examples"

    def test_training(self):
        found = to.spec.load(self.folder / "dpsgd-mnist.toml")
        assert found.plan == to.Plan(
            {m.SubsampledGaussian(noise_multiplier=1.1, sample_rate=256 / 60000): 14062}
        )

    def test_mixed(self):
        found = to.spec.load(self.folder / "mixed.toml")
        assert found.plan == to.Plan(
            {
                m.Laplace(scale=10): 50,
                m.SubsampledGaussian(noise_multiplier=2, sample_rate=0.02): 200,
                m.Gaussian(noise_multiplier=8): 10,
                m.PureDP(epsilon=0.3): 5,
            }
        )

    def test_census(self):
        found = to.spec.load(self.folder / "census2020.toml")
        mechanisms = found.plan.mechanisms
        assert sum(mechanisms.values()) == 2 * 65
        assert found.plan.adjacency == "replace-one"
        assert found.delta == (1e-10,)
        # The budget adds up to the global rho: each factor has 1/(2 sigma^2).
        rho = math.fsum(n / (2 * each.sigma**2) for each, n in mechanisms.items())
        assert rho == pytest.approx(293764 / 114921, rel=1e-14)
        variances = [each.sigma**2 for each in mechanisms]
        assert min(variances) == pytest.approx(1.2092, abs=5e-5)
        assert max(variances) == pytest.approx(7963.3, abs=0.05)

    def test_the_census_file_is_what_its_script_writes(self, tmp_path):
        import runpy

        script = tmp_path / "write_census2020.py"
        script.write_text((self.folder / "write_census2020.py").read_text(encoding="utf-8"), encoding="utf-8")
        runpy.run_path(str(script), run_name="__main__")
        assert (tmp_path / "census2020.toml").read_bytes() == (self.folder / "census2020.toml").read_bytes()


def test_what_is_no_plan_file_is_not_written(tmp_path):
    with pytest.raises(PlanError, match="is no PlanFile"):
        to.spec.dump(to.Plan({to.mechanisms.Gaussian(1): 1}), tmp_path / "plan.toml")


def test_numbers_in_arrays_are_rounded_by_the_mechanism():
    entry = 'kind = "mixture-of-gaussians"\nsigma = 1\nsensitivities = [9007199254740993]\n'
    (read,) = to.spec.loads(f"[[mechanism]]\n{entry}probabilities = [1]\n").plan.mechanisms
    assert read == m.MixtureOfGaussians(1, (9007199254740993,), (1,))


def test_a_mechanism_inside_is_of_a_known_kind_too():
    class Mine(m.Gaussian):
        def curve(self):
            return to.Gaussian(9)

    plan = m.Plan({m.BestOfRuns(Mine(1.0), mean=2, shape=1): 1})
    with pytest.raises(PlanError, match="no kind"):
        to.spec.dumps(to.spec.PlanFile("", plan))


def test_a_plan_file_holds_a_plan():
    with pytest.raises(PlanError, match="no Plan"):
        to.spec.PlanFile("x", 3)
