"""Differential-privacy guarantees as mathematics: trade-off functions and their algebra, certified.

Names are loaded when they are first used, so that ``import tradeoff`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tradeoff import (
        audits,
        baselines,
        conversions,
        errors,
        filters,
        interop,
        limits,
        mechanisms,
        spec,
        sweeps,
    )
    from tradeoff.audits.empirical import empirical
    from tradeoff.certificates.issue.certify import certify
    from tradeoff.certificates.verify import verify
    from tradeoff.curves.contract import TradeOff
    from tradeoff.curves.piecewise_linear import PiecewiseLinear
    from tradeoff.curves.tensor import Tensor
    from tradeoff.design.allocate import allocate
    from tradeoff.design.calibration import calibrate
    from tradeoff.design.part import Part
    from tradeoff.families.approximate_dp import approximate_dp
    from tradeoff.families.densities import from_densities
    from tradeoff.families.from_scipy import from_scipy
    from tradeoff.families.gaussian import Gaussian
    from tradeoff.families.gaussian_mixtures import GaussianMixtures
    from tradeoff.families.identity import Identity
    from tradeoff.families.laplace import Laplace
    from tradeoff.families.location_shift import LocationShift
    from tradeoff.families.masses import from_masses
    from tradeoff.families.profile import Profile
    from tradeoff.families.pure_dp import PureDP
    from tradeoff.families.total_variation import TotalVariation
    from tradeoff.files import load, save
    from tradeoff.intervals.bounds import Bounds
    from tradeoff.mechanisms.plan import Plan
    from tradeoff.operators.distance import distance
    from tradeoff.operators.mixture import mixture
    from tradeoff.operators.pointwise import maximum, minimum
    from tradeoff.operators.subsample import subsample
    from tradeoff.report.compare import compare
    from tradeoff.report.plot import plot
    from tradeoff.sweeps import sweep
    from tradeoff.symbolic.formula import Symbolic

    __version__: str

__all__ = [
    "Bounds",
    "Gaussian",
    "GaussianMixtures",
    "Identity",
    "Laplace",
    "LocationShift",
    "Part",
    "PiecewiseLinear",
    "Plan",
    "Profile",
    "PureDP",
    "Symbolic",
    "Tensor",
    "TotalVariation",
    "TradeOff",
    "allocate",
    "approximate_dp",
    "audits",
    "baselines",
    "calibrate",
    "certify",
    "compare",
    "conversions",
    "distance",
    "empirical",
    "errors",
    "filters",
    "from_densities",
    "from_masses",
    "from_scipy",
    "interop",
    "limits",
    "load",
    "maximum",
    "mechanisms",
    "minimum",
    "mixture",
    "plot",
    "save",
    "spec",
    "subsample",
    "sweep",
    "sweeps",
    "verify",
]

_HOMES = {
    "audits.empirical": ("empirical",),
    "certificates.issue": ("certify",),
    "certificates.verify": ("verify",),
    "files": ("load", "save"),
    "intervals.bounds": ("Bounds",),
    "curves.contract": ("TradeOff",),
    "curves.piecewise_linear": ("PiecewiseLinear",),
    "curves.tensor": ("Tensor",),
    "design.allocate": ("allocate",),
    "design.part": ("Part",),
    "design.calibration": ("calibrate",),
    "families.approximate_dp": ("approximate_dp",),
    "families.densities": ("from_densities",),
    "families.from_scipy": ("from_scipy",),
    "families.gaussian": ("Gaussian",),
    "families.gaussian_mixtures": ("GaussianMixtures",),
    "families.identity": ("Identity",),
    "families.laplace": ("Laplace",),
    "families.location_shift": ("LocationShift",),
    "families.masses": ("from_masses",),
    "families.profile": ("Profile",),
    "families.pure_dp": ("PureDP",),
    "symbolic.formula": ("Symbolic",),
    "families.total_variation": ("TotalVariation",),
    "mechanisms.plan": ("Plan",),
    "operators.distance": ("distance",),
    "operators.mixture": ("mixture",),
    "operators.pointwise": ("maximum", "minimum"),
    "operators.subsample": ("subsample",),
    "report.compare": ("compare",),
    "report.plot": ("plot",),
    "sweeps": ("sweep",),
}
_HOME_OF = {name: f"tradeoff.{home}" for home, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # a type checker knows the names above, and no others

    def __getattr__(name: str) -> Any:
        """Load a public name, or a public module, on first use."""
        if name == "__version__":
            value = import_module("importlib.metadata").version("tradeoff")
        elif name in _HOME_OF:
            value = getattr(import_module(_HOME_OF[name]), name)
        elif name in __all__:
            value = import_module(f"tradeoff.{name}")
        else:
            raise AttributeError(f"module 'tradeoff' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
