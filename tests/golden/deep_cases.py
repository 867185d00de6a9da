"""Cases of deep.json: factors, method of the truth, and what is asked."""

from __future__ import annotations

from typing import Any

Case = dict[str, Any]


def gaussian(s: float, n: int = 1) -> Case:
    return {"kind": "gaussian", "noise_multiplier": s, "count": n}


def sgm(p: float, s: float, n: int = 1) -> Case:
    return {"kind": "subsampled_gaussian", "sample_rate": p, "noise_multiplier": s, "count": n}


def laplace(e: float, n: int = 1) -> Case:
    return {"kind": "laplace", "epsilon": e, "count": n}


def pure(e: float, n: int = 1) -> Case:
    return {"kind": "pure_dp", "epsilon": e, "count": n}


def thinned_pure(p: float, e: float, n: int = 1) -> Case:
    return {"kind": "subsampled_pure_dp", "sample_rate": p, "epsilon": e, "count": n}


def approximate(e: float, d: float, n: int = 1) -> Case:
    return {"kind": "approximate_dp", "epsilon": e, "delta": d, "count": n}


def variation(d: float, n: int = 1) -> Case:
    return {"kind": "total_variation", "delta": d, "count": n}


def integer_gaussian(s: float, shift: int, n: int = 1) -> Case:
    return {"kind": "discrete_gaussian", "sigma": s, "shift": shift, "count": n}


def integer_laplace(b: float, shift: int, n: int = 1) -> Case:
    return {"kind": "discrete_laplace", "scale": b, "shift": shift, "count": n}


def thinned_laplace(p: float, e: float, n: int = 1) -> Case:
    return {"kind": "subsampled_laplace", "sample_rate": p, "epsilon": e, "count": n}


def mixture(n: int, *parts: tuple[float, Case]) -> Case:
    return {"kind": "mixture", "parts": [list(part) for part in parts], "count": n}


def case(name: str, method: str, *factors: Case, **more: Any) -> Case:
    asymmetric = "sample_rate" in str(factors)
    return {"id": name, "method": method, "factors": list(factors), "asymmetric": asymmetric, **more}


SHORT = (1e-3, 1e-12, 1e-100)

CASES = [
    # Thinned Gaussians: tiny and large rates, little and much noise, one round to 10^9.
    case("sgm p=1e-4 s=5 n=1e9", "contour", sgm(1e-4, 5.0, 10**9)),
    case("sgm p=.2 s=4 n=50", "contour", sgm(0.2, 4.0, 50)),
    case("sgm p=.9 s=30 n=1000", "contour", sgm(0.9, 30.0, 1000)),
    case("sgm p=.01 s=100 n=1e6", "contour", sgm(0.01, 100.0, 10**6)),
    case("sgm p=1e-3 s=10 n=1e7", "contour", sgm(1e-3, 10.0, 10**7)),
    case("sgm p=.01 s=1 n=1000", "contour", sgm(0.01, 1.0, 1000), deltas=SHORT),
    case("sgm p=.005 s=2 n=10000", "contour", sgm(0.005, 2.0, 10**4), deltas=SHORT),
    case("sgm p=.1 s=2 n=20", "contour", sgm(0.1, 2.0, 20), deltas=SHORT, betas=False),
    case("sgm p=.5 s=1 n=20", "contour", sgm(0.5, 1.0, 20), deltas=SHORT, betas=False),
    case("sgm p=.3 s=2 n=2", "quadrature", sgm(0.3, 2.0, 2)),
    case("sgm p=.01 s=1 n=2", "quadrature", sgm(0.01, 1.0, 2)),
    case(
        "sgm p=.05 s=.8 n=5",
        "contour",
        sgm(0.05, 0.8, 5),
        epsilons=(6.0, 20.0, 46.0),
        orders=("f",),
        betas=False,
    ),
    case(
        "sgm p=.01 s=.5 n=100",
        "contour",
        sgm(0.01, 0.5, 100),
        epsilons=(8.0, 26.0, 119.0),
        orders=("f",),
        betas=False,
    ),
    case(
        "sgm p=1e-5 s=.6 n=1e5",
        "contour",
        sgm(1e-5, 0.6, 10**5),
        epsilons=(15.0, 30.0),
        orders=("f",),
        betas=False,
    ),
    case("sgm p=.01 s=1 n=1", "closed form", sgm(0.01, 1.0)),
    case("sgm p=1e-3 s=.3 n=2", "quadrature", sgm(1e-3, 0.3, 2)),
    case("sgm p=.9 s=.3 n=1", "closed form", sgm(0.9, 0.3)),
    case("sgm p=1e-5 s=100 n=1", "closed form", sgm(1e-5, 100.0), epsilons=(1e-7, 1e-6, 2e-6)),
    case(
        "five distinct sgm",
        "contour",
        *(
            sgm(p, s, n)
            for p, s, n in (
                (0.01, 1.5, 200),
                (0.02, 2.0, 300),
                (0.001, 1.0, 5000),
                (0.3, 10.0, 50),
                (0.1, 5.0, 77),
            )
        ),
        deltas=SHORT,
    ),
    case("one sgm, one Gaussian", "contour", sgm(0.1, 1.0), gaussian(3.0), deltas=SHORT),
    # Gaussians.
    case("Gaussians", "exact sums", gaussian(10.0, 30), gaussian(0.7), gaussian(33.3, 1000)),
    case(
        "Gaussians and a mass at infinity",
        "exact sums",
        gaussian(3.0, 4),
        variation(1e-9, 3),
        deltas=(1e-3, 1e-6, 1e-9, 1e-12),
    ),
    # Laplace.
    case("laplace .1 n=100", "residues", laplace(0.1, 100), epsilons=(3.1, 6.8, 8.5, 9.5, 9.99)),
    case("laplace 3 n=20", "residues", laplace(3.0, 20), epsilons=(20.0, 50.0, 58.0, 59.9999)),
    case("laplace 1 n=2", "residues", laplace(1.0, 2), epsilons=(0.5, 1.5, 1.99)),
    case("laplace .05 n=1e4", "contour", laplace(0.05, 10**4)),
    case("laplace 1 n=1000", "contour", laplace(1.0, 1000)),
    case("laplace .001 n=1e6", "contour", laplace(0.001, 10**6), deltas=SHORT),
    case(
        "subsampled laplace 1 p=.1 n=500",
        "contour",
        thinned_laplace(0.1, 1.0, 500),
        deltas=SHORT,
        betas=False,
    ),
    # Finitely many losses.
    case(
        "pure .1, .1 sqrt 2, .1 pi",
        "exact sums",
        pure(0.1, 40),
        pure(0.14142135623730953, 30),
        pure(0.3141592653589793, 20),
    ),
    case(
        "pure .01, .01 sqrt 3 n=1000",
        "exact sums",
        pure(0.01, 1000),
        pure(0.017320508075688773, 1000),
        betas=False,
    ),
    case(
        "pure, six rounds",
        "exact sums",
        pure(1.0, 3),
        pure(0.7, 2),
        pure(0.33),
        epsilons=(0.5, 2.5, 4.0, 4.7299),
    ),
    case("pure .1 n=1e4", "exact sums", pure(0.1, 10**4), betas=False),
    case("thinned pure 1 p=.05 n=200", "exact sums", thinned_pure(0.05, 1.0, 200)),
    case("thinned pure, two kinds", "exact sums", thinned_pure(0.3, 0.5, 50), thinned_pure(0.01, 2.0, 40)),
    case(
        "ten categories odds 3 n=100",
        "exact sums",
        {"kind": "response", "odds": 3, "categories": 10, "count": 100},
    ),
    case(
        "approximate DP, two kinds",
        "exact sums",
        approximate(0.2, 1e-8, 20),
        approximate(0.3, 1e-12, 10),
        deltas=(1e-3, 1e-6, 1e-9, 1e-12),
    ),
    # Integer noise.
    case(
        "discrete Gaussians",
        "exact sums",
        integer_gaussian(2.0, 1, 10),
        integer_gaussian(3.3, 1, 10),
        integer_gaussian(0.7, 1, 3),
        betas=False,
    ),
    case(
        "discrete Gaussians of two shifts",
        "exact sums",
        integer_gaussian(5.0, 2, 30),
        integer_gaussian(7.7, 1, 30),
        betas=False,
    ),
    case("discrete Gaussian n=50", "exact sums", integer_gaussian(4.0, 1, 50)),
    case(
        "discrete Laplace, shifts 3 and 5",
        "exact sums",
        integer_laplace(3.0, 3, 25),
        integer_laplace(1.7, 5, 10),
    ),
    case("discrete Laplace shift 2 n=400", "exact sums", integer_laplace(20.0, 2, 400)),
    # Everything at once.
    case(
        "Laplace, sgm, Gaussians, pure",
        "contour",
        laplace(0.1, 50),
        sgm(0.01, 1.0, 200),
        gaussian(10.0, 10),
        pure(0.3, 5),
        deltas=SHORT,
        betas=False,
    ),
    case(
        "sgm and approximate DP",
        "contour",
        sgm(0.02, 2.0, 500),
        approximate(0.1, 1e-10, 3),
        gaussian(4.0),
        deltas=(1e-3, 1e-6, 1e-9),
    ),
    case("Gaussian, pure, discrete", "exact sums", gaussian(1.1), pure(0.3, 10), integer_laplace(2.5, 2, 4)),
    case(
        "mixture of Gaussian and pure n=8",
        "conditioning",
        mixture(8, (0.25, gaussian(1.0)), (0.75, pure(0.5))),
    ),
    case(
        "mixture of sgm and Gaussian n=40",
        "contour",
        mixture(40, (0.5, sgm(0.1, 1.0)), (0.5, gaussian(5.0))),
        deltas=SHORT,
        betas=False,
    ),
]
