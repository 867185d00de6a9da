import math
import os
from fractions import Fraction
from pathlib import Path

import pytest

import tradeoff as to
from tradeoff import mechanisms as m
from tradeoff.atomic_write import atomic_write, check_writable, read_text
from tradeoff.errors import DomainError, PlanError
from tradeoff.spec.plan_file import find_number, replace_number

EXAMPLES = Path(__file__).parents[2] / "examples"
LAPLACE = '\n[[mechanism]]  # one\nkind = "laplace"\nscale = 1\n'
NESTED = '\n[[mechanism]]\nkind = "subsampled"\nsample_rate = 0.1\n[mechanism.mechanism]\nkind = "laplace"\n'
FULL = '''
title = "all types of entries"
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
kind = "subsampled"
sample_rate = 0.25
mechanism = {kind = "laplace", scale = inf, sensitivity = 2.0}
[[mechanism]]
kind = "tree-aggregation"
noise_multiplier = 2
steps = 8
completion = true
[[mechanism]]
kind = "custom"
curve = """
{"schema": 1, "tradeoff": {"kind": "piecewise-linear", "alpha": [0, "1/3", 1], "beta": [1, "1/3", 0]}}"""
[[mechanism]]
kind = "laplace"
scale = 1
count = 0
'''


def one(lines, head=""):
    return f"{head}\n[[mechanism]]\n{lines}\n"


def nested(n):
    """Write a plan of one mechanism that holds n others, one inside another."""
    head = '{kind = "subsampled", sample_rate = 0.5, mechanism = '
    return "mechanism = [" + head * n + '{kind = "laplace", scale = 1}' + "}" * n + "]"


def test_loads_reads_every_entry_and_dump_reads_back_equal(tmp_path):
    content = to.spec.loads(FULL)
    assert content.title == "all types of entries"
    assert (content.delta, content.epsilon, content.alpha) == ((1e-5, 0.0), (-1.0, math.inf), (0.05,))
    assert content.plan.adjacency == "add-remove"
    assert content.plan.mechanisms == {
        m.Gaussian(noise_multiplier=8, sensitivity=(1, 2.5)): 10,
        m.Subsampled(m.Laplace(scale=math.inf, sensitivity=2), 0.25): 1,
        m.TreeAggregation(2, steps=8, completion=True): 1,
        m.Custom(to.PiecewiseLinear([0, Fraction(1, 3), 1], [1, Fraction(1, 3), 0])): 1,
        m.Laplace(scale=1): 0,
    }
    both = to.spec.PlanFile("", to.Plan({m.Laplace(scale=1, sensitivity=1): 2}))
    assert to.spec.loads(LAPLACE + LAPLACE) == both
    for content in (LAPLACE + "count = 1_000_000_000_000", nested(16), 'title = "www.a.b.c.org"' + LAPLACE):
        assert to.spec.loads(content).plan.mechanisms
    content = to.spec.loads(FULL)
    to.spec.dump(content, tmp_path / "plan.toml")
    assert to.spec.load(tmp_path / "plan.toml") == content
    with pytest.raises(DomainError, match="cannot be written"):
        to.spec.dump(content, tmp_path / "no" / "plan.toml")


# Entries of one mechanism, ";" between lines, and the error.
ENTRIES = r"""
scale = 1 => mechanism[1].kind is missing; it must be one of above-threshold
kind = "gausian" => mechanism[1].kind = 'gausian' is not known; did you mean gaussian?
kind = "zzz" => mechanism[1].kind = 'zzz' is not known; allowed: above-threshold
kind = "dpsgd" => mechanism[1].kind = 'dpsgd' is not known; did you mean subsampled-gaussian?
kind = "laplace"; epsilon = 1 => [1].epsilon is not known; allowed: scale, sensitivity, count; scale is the se
kind = "laplace"; scale = 1; delta = [1e-5] => line 5: mechanism[1].delta must be above the first
kind = "laplace" => mechanism[1].scale is missing
kind = "gaussian"; noise_multiplyer = 1 => ; did you mean noise_multiplier?
kind = "laplace"; scale = "1" => mechanism[1].scale must be one real number, got '1'; write the number
kind = "laplace"; scale = {x = 1} => mechanism[1].scale.kind is missing
kind = "laplace"; scale = HUGE => mechanism[1].scale must be in (0, inf], got 1000
kind = "laplace"; scale = 1; count = 1.5 => mechanism[1].count must be an integer
kind = "gaussian"; noise_multiplier = 1; sensitivity = [1, -1] => line 5: mechanism[1].sensitivity[2] must be
kind = "custom"; curve = 3 => mechanism[1].curve must be a curve as JSON, or the name of a file, got 3
kind = "custom"; curve = "missing.json" => missing.json: cannot be read: No such file
kind = "custom"; curve = '{"schema": 1, "tradeoff": 3}' => mechanism[1].curve: 3 is not a trade-off
kind = "custom"; curve = '{"schema": 2, "tradeoff": {}}' => mechanism[1].curve: schema must be 1, got 2
kind = "custom"; curve = '{' => mechanism[1].curve: the text is not that of a saved file
kind = "custom"; curve = '{"schema": 1, "tradeoff": {"kind": "gaussian", "mu": 1e-400}}' => 1e-400 is outside
kind = "gaussian"; sigma = 1 => sensitivity, count; did you mean noise_multiplier?
kind = "subsampled-gaussian"; epochs = 3 => group_size, count; count is the number of steps, epochs over
kind = "subsampled-gaussian"; num_epochs = 3 => group_size, count; count is the number of steps, epochs over
kind = "laplace"; scale = 1; steps = 3 => sensitivity, count; did you mean count?
kind = "subsampled-gaussian"; noise_multiplier=1; sample_rate=1; scheme="without-replacement" => ; set the
kind = "laplace"; scale = 1; scael = 1 => line 5: mechanism[1].scael is not known; allowed: scale, sensitivity
""".replace("HUGE", "1" + "0" * 400)
# Entries before a mechanism, and the error.
HEADS = """
adjacency = 'bounded' => line 1: adjacency must be one of 'add-remove', 'replace-one', got 'bounded'
title = 1 => title must be a string, got 1
delta = 2 => line 1: delta must be in [0, 1], got 2
alpha = 0.1; delta = [; 0.1,; 2,; ] => line 2: delta must be in [0, 1], got 2
delta = [0.1, [0.2]] => delta must be one real number, got [0.2]
epsilon = nan => epsilon must be in [-inf, inf], got nan
alpha = 0.1; detla = 1 => line 2: detla is not known; allowed: title, adjacency, delta
title =  => is not valid TOML
alpha = 1; alpha = 2 => is not valid TOML
"mechanism[99]" = 1 => mechanism[99] is not known
"""


def rows(table):
    pairs = (line.split(" => ") for line in table.strip().splitlines())
    return [(entries.replace("; ", "\n"), message) for entries, message in pairs]


SAMPLED = one(
    'kind = "subsampled-gaussian"\nnoise_multiplier = 1\nsample_rate = 0.5', "adjacency = 'replace-one'"
)
CRLF = LAPLACE + '[[mechanism]]\r\nkind = "laplace"\r\n# more\r\n{}\r\n'
FILES = [
    ("", "mechanism must be at least one table [[mechanism]], with double brackets"),
    ("mechanism = 3", "line 1: mechanism must be at least one table"),
    ('[mechanism]\nkind = "laplace"', "mechanism must be at least one table"),
    (SAMPLED, "[1].kind must be stated for replace-one neighbours, got 'subsampled-gaussian'; write adj"),
    (LAPLACE + LAPLACE.replace("= 1", "= -1"), "line 8: mechanism[2].scale must be in (0, inf], got"),
    (CRLF.format("count = 2"), "line 5: mechanism[2].scale is missing"),
    (CRLF.format("scale = 0"), "line 8: mechanism[2].scale must be"),
    (NESTED + "scale = -1\n", "line 5: mechanism[1].mechanism.scale must be"),
    (NESTED + "scale = 1\ncount = 3\n", "line 5: mechanism[1].mechanism.count is not known"),
    (NESTED.replace("sample_rate = 0.1\n", "") + "scale = 1", "line 2: mechanism[1].sample_rate is missing"),
    ("title = '''\n[[mechanism]]\n'''" + LAPLACE.replace("1", "-1"), "plan.toml: mechanism[1].scale must be"),
    ('mechanism = [\n{kind = "laplace", scale = -1}]', "plan.toml: mechanism[1].scale must be"),
    # Files made to keep their reader busy.
    ("a = " + "[" * 10**5, "so deeply"),
    (LAPLACE + "count = " + "1" * 5000, "is not valid TOML"),
    (LAPLACE + "count = 0x" + "f" * 5000, "mechanism[1].count must be an integer"),
    ("a" + " " * 900_000, "is not valid TOML"),
    ("x" * (2**20 + 1), "must have at most 1,048,576 characters"),
    (nested(17), "must nest at most 16 mechanisms, got 17"),
    (nested(5_000), "so deeply"),
    (one(f"""kind = "custom"\ncurve = '{{"schema": 1, "tradeoff": {"[" * 10**5}'"""), "[1].curve: arrays or"),
    (FULL.replace('[1, "1/3", 0]', "[0.5, 0.6, 0]"), "mechanism[4].curve: tradeoff.beta must decrease"),
    *((one(entries), message) for entries, message in rows(ENTRIES)),
    *((entries + LAPLACE, message) for entries, message in rows(HEADS)),
]


@pytest.mark.parametrize(("content", "message"), FILES, ids=lambda value: value[:40])
def test_load_of_a_wrong_file_names_file_line_and_entry(tmp_path, content, message):
    (path := tmp_path / "plan.toml").write_text(content, encoding="utf-8", newline="")
    with pytest.raises(PlanError) as error:
        to.spec.load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 1100


def test_load_of_curves_numbers_and_titles_is_exact_or_refused(tmp_path):
    to.save(to.Gaussian(1), tmp_path / "mine.json")
    (tmp_path / "plan.toml").write_text(one('kind = "custom"\ncurve = "mine.json"'), encoding="utf-8")
    assert to.spec.load(tmp_path / "plan.toml").plan == to.Plan({m.Custom(to.Gaussian(1)): 1})
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe9"')
    for name, reason in {"no.toml": "No such file", ".": "Is a directory", "latin.toml": "not UTF-8"}.items():
        with pytest.raises(PlanError, match=f"cannot be read: .*{reason}"):
            to.spec.load(tmp_path / name)
    for number in ("0.0", "0e5", "0.0E-999", "5e-324", "inf", "+inf", "1.7e308"):
        assert to.spec.loads(f"epsilon = {number}\n{LAPLACE}").epsilon == (float(number),)
    for number in ("1e400", "-1e400", "1_0e3_99", "1e-400", "0.003E-999"):
        for entry in ("scale = ", "scale = 1\nsensitivity = "):
            with pytest.raises(PlanError, match=f"plan: {number} is outside the range of floats"):
                to.spec.loads(one(f'kind = "laplace"\n{entry}{number}'))
    for title in ("", 'quo"ted \\ back', "two\nlines", "ε ≤ δ", "del \x7f", "tab\t", "1/3"):
        content = to.spec.PlanFile(title, to.Plan({m.Laplace(scale=1): 1}, adjacency="replace-one"))
        assert to.spec.loads(to.spec.dumps(content)) == content


def test_replace_number_changes_nothing_else_and_examples_load():
    text = '[[mechanism]]\r\nkind = "gaussian"\r\n noise_multiplier=1.0# σ\r\n'
    assert replace_number(text, "mechanism[1].noise_multiplier", 2.5) == text.replace("1.0", "2.5")
    assert replace_number(text, "mechanism[1].count", 9) == text.replace("kind", "count = 9\r\nkind")
    assert replace_number(LAPLACE + LAPLACE, "mechanism[2].scale", 3) == LAPLACE + LAPLACE.replace("1", "3")
    content = one('kind = "discrete-gaussian"\nsigma = 1')
    keys = {"count": True, "sensitivity": True, "sigma": False}  # whether it is an integer
    assert {key: find_number(content, f"mechanism[1].{key}")[2] for key in keys} == keys
    dp_sgd, mixed = (to.spec.load(EXAMPLES / name).plan for name in ("dpsgd-mnist.toml", "mixed.toml"))
    assert dp_sgd == to.Plan({m.SubsampledGaussian(1.1, sample_rate=256 / 60000): 14062})
    runs = {m.Laplace(scale=10): 50, m.SubsampledGaussian(2, 0.02): 200, m.Gaussian(noise_multiplier=8): 10}
    assert mixed == to.Plan(runs | {m.PureDP(0.3): 5})
    for entries in ({"plan": 3}, {"title": 1}, {"delta": 2.0}, {"alpha": (0.1, math.nan)}):
        with pytest.raises((PlanError, DomainError), match=f"^{next(iter(entries))}.* must be"):
            to.spec.PlanFile(**{"title": "", "plan": to.Plan({}), **entries})


posix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of this kind are POSIX")


@pytest.mark.parametrize("data", ["", "é", "漢字 and 𝛼\r\n𝛽\rend\n", b"\x00\xff"])
def test_atomic_write_and_read_text_keep_exact_bytes(tmp_path, data):
    atomic_write(path := tmp_path / "file", data)
    assert path.read_bytes() == (data.encode() if isinstance(data, str) else data)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    if isinstance(data, str):
        assert read_text(path, len(data)) == data
        with pytest.raises(DomainError, match="must have at most"):
            read_text(path, len(data) - 1)


def test_atomic_write_keeps_mode_and_link_and_the_old_file_where_it_fails(tmp_path, monkeypatch):
    (path := tmp_path / "file").write_text("old")
    path.chmod(0o640)
    (link := tmp_path / "link").symlink_to(path)
    atomic_write(link, "new")
    assert link.is_symlink()
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)

    def fail(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(DomainError, match="file': cannot be written: No space left"):
        atomic_write(path, "newer")
    assert path.read_text() == "new"
    assert {each.name for each in tmp_path.iterdir()} == {"file", "link"}


def make_read_only(path):
    path.write_text("old")
    path.chmod(0o444)


TARGETS = [
    ("file", Path.mkdir, "must be a regular file"),
    ("file", make_read_only, "must not be read-only"),
    ("file", lambda path: path.symlink_to(path), "must be a regular file"),
    pytest.param("file", getattr(os, "mkfifo", None), "must be a regular file", marks=posix),
    *((name, lambda _: None, "cannot be written") for name in ("no/file", "a" * 300, "half \ud800")),
]


@pytest.mark.parametrize("write", [check_writable, lambda path: atomic_write(path, "new")])
@pytest.mark.parametrize(("name", "make", "message"), TARGETS)
def test_unsuitable_targets_are_refused_and_unchanged(tmp_path, write, name, make, message):
    make(path := tmp_path / name)
    before = [each.lstat()[:2] for each in tmp_path.iterdir()]
    with pytest.raises(DomainError, match=message):
        write(path)
    assert [each.lstat()[:2] for each in tmp_path.iterdir()] == before


@posix
def test_read_text_of_pipes_and_devices_ends(tmp_path):
    os.mkfifo(pipe := tmp_path / "pipe")
    for path, message in ((pipe, "it is a named pipe"), ("/dev/zero", "at most 10 characters")):
        with pytest.raises(DomainError, match=message):
            read_text(path, 10)
    reader, writer = os.pipe()
    os.write(writer, b"abc")
    os.close(writer)
    assert read_text(f"/dev/fd/{reader}", 10) == "abc"
    os.close(reader)
