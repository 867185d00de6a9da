"""Differential-privacy guarantees as mathematics: trade-off functions and their algebra, certified on both sides."""

from tradeoff import mechanisms, spec
from tradeoff.core.bounds import Bounds
from tradeoff.core.curve import TradeOff
from tradeoff.core.piecewise_linear import PiecewiseLinear
from tradeoff.core.tensor import Tensor
from tradeoff.families import closed_forms as _closed_forms  # noqa: F401 - fills the table of identities
from tradeoff.families.approximate_dp import approximate_dp
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.families.laplace import Laplace
from tradeoff.families.location_shift import LocationShift
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.profile import Profile
from tradeoff.families.symbolic import Symbolic
from tradeoff.families.total_variation import TotalVariation
from tradeoff.mechanisms.plan import Plan
from tradeoff.operators.distance import distance
from tradeoff.operators.mixture import mixture
from tradeoff.operators.pointwise import maximum, minimum
from tradeoff.operators.subsample import subsample
from tradeoff.report.plot import plot
