import pytest

from tradeoff.cli.tokens import spread
from tradeoff.errors import DomainError


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], []),
        (["compose", "p.toml", "--delta", "1", "2"], ["compose", "p.toml", "--delta=1", "--delta=2"]),
        (["--delta", "1", "p.toml", "--json"], ["--delta=1", "p.toml", "--json"]),
        (["--delta", "--json"], ["--delta", "--json"]),
        (["--delta", "x", "3"], ["--delta=x", "--delta=3"]),
        (["--alpha", "1", "--delta", "2"], ["--alpha=1", "--delta=2"]),
        (["--tol", "-1"], ["--tol", "-1"]),
        (["--delta"], ["--delta"]),
        (["--delta", "--alpha", "1"], ["--delta", "--alpha=1"]),
    ],
)
def test_numbers_belong_to_the_flag_before_them(given, expected):
    assert spread(given) == expected


def test_numbers_with_commas_between_are_told_to_stand_apart():
    with pytest.raises(DomainError, match=r"--delta 1e-5 1e-6$"):
        spread(["compose", "p.toml", "--delta", "1e-5,1e-6"])
    assert spread(["--delta", "1e-5", "a,b.toml"]) == ["--delta=1e-5", "a,b.toml"]
