"""Differential-privacy guarantees as mathematics: trade-off functions and their algebra, certified on both sides."""

from tradeoff.core.bounds import Bounds
from tradeoff.core.curve import TradeOff
from tradeoff.core.tensor import Tensor
from tradeoff.families import closed_forms as _closed_forms  # noqa: F401 - fills the table of identities
from tradeoff.families.approximate_dp import approximate_dp
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.families.laplace import Laplace
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation
