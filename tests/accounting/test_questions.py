import joblib
import pytest

import tradeoff as to

MIXED = to.Laplace(0.3) ** 20 @ to.subsample(to.Gaussian(1.0), 0.05) ** 100 @ to.PureDP(0.1) ** 5


def test_less_memory_gives_wider_bounds_and_precision_error_names_reachable_width():
    curve = to.PureDP(0.3) ** 400 @ to.PureDP(0.1234567) ** 300
    narrow, wide = (curve.bounds.epsilon(1e-5, memory=memory) for memory in (2**28, 2**20))
    assert wide.lower <= narrow.upper
    assert narrow.lower <= wide.upper
    with pytest.raises(to.errors.PrecisionError) as caught:
        curve.bounds.epsilon(1e-5, tol=1e-13, memory=2**22)
    tol = 2 * caught.value.reachable
    assert curve.bounds.epsilon(1e-5, tol=tol, memory=2**22).width <= tol


def test_progress_reports_settled_entries():
    reports = []
    MIXED.bounds.delta([0.1, 1.0, 3.0], progress=lambda settled, total: reports.append((settled, total)))
    assert reports[0] == (0, 3)
    assert all(settled < total for settled, total in reports)


def test_jobs_do_not_change_bounds():
    def product():
        curve = to.Identity()
        for k in range(70):
            curve = curve @ to.subsample(to.Gaussian(1.0 + k / 100), 0.01) ** 20
        return curve

    alone = product().bounds.epsilon(1e-5)
    with joblib.parallel_config(backend="threading"):
        together = product().bounds.epsilon(1e-5, n_jobs=2)
    assert together.lower == pytest.approx(alone.lower, rel=1e-9)
    assert together.upper == pytest.approx(alone.upper, rel=1e-9)


@pytest.mark.parametrize(
    ("curve", "engines"),
    [
        (to.subsample(to.Laplace(1.0), 0.1) ** 9, ["contour", "lattice"]),
        (to.subsample(to.Gaussian(1.0), 0.1) ** 20, ["contour"]),
        (to.subsample(to.Laplace(1.0), 0.01) ** 1000, ["contour"]),
    ],
)
def test_lattice_precedes_long_contour_where_atoms_last(curve, engines):
    steps = curve.explain(delta=0.02, tol=1e-7).steps
    assert [step.engine for step in steps] == engines
    assert steps[-1].width <= 1e-7
