"""Series and frames are answered with their labels; arrays and numbers as ever."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import tradeoff as to

F = to.Laplace(0.5) @ to.TotalVariation(0.01)


def test_a_series_keeps_its_index():
    pandas = pytest.importorskip("pandas", reason="pandas, an extra, is not installed")
    asked = pandas.Series([0.1, 0.2], index=["first", "second"], name="asked")
    for name, answer, plain in (
        ("beta", F(asked), F(asked.to_numpy())),
        ("delta", F.delta(asked), F.delta(asked.to_numpy())),
        ("epsilon", F.epsilon(asked), F.epsilon(asked.to_numpy())),
        ("beta", F.bounds(asked).upper, F.bounds(asked.to_numpy()).upper),
    ):
        pandas.testing.assert_series_equal(
            answer, pandas.Series(plain, asked.index, name=name), check_exact=True
        )


def test_a_frame_keeps_index_and_columns():
    pandas = pytest.importorskip("pandas", reason="pandas, an extra, is not installed")
    asked = pandas.DataFrame({"x": [0.1, 0.2], "y": [0.3, 0.4]}, index=[5, 7])
    answer = F(asked)
    assert answer.columns.tolist() == ["x", "y"]
    assert answer.index.tolist() == [5, 7]
    assert answer.to_numpy().tolist() == F(asked.to_numpy()).tolist()


def test_pandas_is_not_imported_to_find_out():
    code = "import sys, tradeoff as to; to.Gaussian(1)([0.1, 0.2]); sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_arrays_and_numbers_stay():
    assert type(F(0.1)) is float
    assert type(F([0.1])) is np.ndarray
    assert type(F(np.float64(0.1))) is float
