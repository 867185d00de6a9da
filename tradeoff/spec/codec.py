"""Objects as plain data, and back: one table of forms by kind.

An object is a table of *entries* and its ``kind``. A *place* is the path of an entry in a file, for errors,
such as ``mechanism[2].scale``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from inspect import Parameter, Signature, signature
from operator import attrgetter
from typing import Any

import numpy as np

from tradeoff.conversions import ZeroConcentrated
from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.hooks import BOUND, ENVELOPE, PAIR, limited
from tradeoff.curves.parameters import count, exact_number, reals
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.curves.product import Tensor, tensor
from tradeoff.errors import DomainError, TradeOffError, domain, shown
from tradeoff.families import discrete
from tradeoff.families.approximate_dp import Identity, PureDP, TotalVariation
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.gaussian_mixtures import GaussianMixtures
from tradeoff.families.laplace import BoundedRange, Laplace, Truncated
from tradeoff.families.location_shift import LocationShift, LogConcaveShift
from tradeoff.intervals.polygon import ONE, hull, whole
from tradeoff.mechanisms import Mechanism
from tradeoff.mechanisms.base import kind_name
from tradeoff.mechanisms.fields import suggest
from tradeoff.operators.pointwise import HullOfMinimum, Maximum, Mixture, maximum, minimum, mixture
from tradeoff.operators.subsample import Subsampled
from tradeoff.operators.symmetrise import Envelope, ProfileSymmetrised
from tradeoff.operators.unary import Group, Inverse

SCHEMA = 1  # version of a saved file; it grows when an older reader would misread one
_NUMBER = re.compile(r"'*(-?inf|-?\d+/[1-9]\d*)")  # texts read as numbers, and those with a quote before
_MAX_PLACE = 100  # characters of a place in an error
# Entries, with their values, of curves that are not one pair's, and the tightness that they stand for.
_MARKS = (("envelope", True, ENVELOPE), ("exact", False, BOUND))


class Form:
    """How objects of a class are written and made: ``make(**entries)``, by default the class.

    The entries are the parameters of ``make``. They are written as ``fields`` returns them for an object, by
    default as the attributes of these names.
    """

    def __init__(self, kind: type, make: Any = None, **fields: Callable[[Any], Any]) -> None:
        self.type, self.make = kind, make or kind
        self.parameters: Mapping[str, Parameter] = signature(self.make).parameters
        self.fields = {name: fields.get(name, attrgetter(name)) for name in self.parameters}

    def build(self, place: str, values: Mapping[str, Any]) -> Any:
        """Return the object of these entries; ``DomainError`` names the place of a wrong one."""
        place = place if len(place) <= _MAX_PLACE else f"{place[:_MAX_PLACE]}..."
        for name in values:
            check_known(f"{place}.{name}", name, self.parameters)
        for name, parameter in self.parameters.items():
            if name not in values and parameter.default is Parameter.empty:
                raise DomainError(f"{place}.{name} is missing")
        try:
            return self.make(**values)
        except (TradeOffError, TypeError, ValueError, AttributeError, ArithmeticError, LookupError) as error:
            # Entries of arrays are counted from 1 in files.
            message = re.sub(r"^(\w+)\[(\d+)", lambda m: f"{m[1]}[{int(m[2]) + 1}", str(error))
            separator = "." if re.split(r"\W", message)[0] in self.parameters else ": "
            raise DomainError(f"{place}{separator}{message}") from error


def check_known(place: str, word: Any, allowed: Collection[str]) -> None:
    """Raise ``DomainError`` for a key or kind that is not ``allowed``, and suggest the closest one."""
    if not (isinstance(word, str) and word in allowed):
        hint = suggest(str(word), allowed)
        if word in ("epochs", "num_epochs") and "sample_rate" in allowed:
            hint = "count is the number of steps, epochs over sample_rate"
        known = "" if len(allowed) > 12 and hint else f"; allowed: {', '.join(allowed) or 'nothing'}"
        raise DomainError(f"{place[: 2 * _MAX_PLACE]} is not known{known}{'; ' * bool(hint)}{hint}")


def pop_form(forms: Mapping[str, Form], place: str, table: dict[str, Any]) -> Form:
    """Take the kind out of a table, and return its form."""
    if "kind" not in table:
        raise DomainError(f"{place}.kind is missing; it must be one of {', '.join(forms)}")
    kind = table.pop("kind")
    check_known(f"{place}.kind = {shown(kind)}", kind, forms)
    return forms[kind]


def parse_float(text: str) -> float:
    """Return a float; 1e400 does not mean infinite noise, nor 1e-400 a rate of 0."""
    value = float(text)
    if (math.isinf(value) and "inf" not in text) or (value == 0 and re.match(r"[^eE]*[1-9]", text)):
        raise DomainError(f"{text[:_MAX_PLACE]} is outside the range of floats; write inf or 0 if meant")
    return value


class Codec:
    """Reader and writer of the objects of a table of forms by kind.

    Floats are JSON numbers that read back to the last bit, infinities "inf" and "-inf", fractions texts such
    as "1/3". An object is a table of its entries and its "kind"; a curve that is not exact has ``"exact":
    false``, the envelope of several pairs ``"envelope": true``.
    """

    def __init__(self, forms: Mapping[str, Form]) -> None:
        self.forms = forms
        self.kinds = {form.type: kind for kind, form in forms.items()}

    def encode(self, value: Any) -> Any:
        """Return plain data; ``DomainError`` if a part of it has no form."""
        if isinstance(value, np.ndarray | np.generic) and not np.ma.isMaskedArray(value):
            value = value.tolist()
        match value:
            case None | bool() | int():
                return value
            case float():
                return str(value) if math.isinf(value) else value
            case str():
                return f"'{value}" if _NUMBER.fullmatch(value) else value
            case Fraction():
                return f"{value.numerator}/{value.denominator}"
            case tuple() | list():
                return [self.encode(each) for each in value]
        kind = self.kinds.get(type(value))
        if kind is None or (isinstance(value, TradeOff) and value.assumptions):
            remedy = "save its parts, or the .lower of a curve without assumptions"
            raise DomainError(f"{shown(value)} has no form in a file; {remedy}")
        form = self.forms[kind]
        is_mechanism = isinstance(value, Mechanism)
        fields = value.parameters() if is_mechanism else {n: get(value) for n, get in form.fields.items()}
        entries = {
            name: self.encode(each)
            for name, each in fields.items()
            if not (each is None or (isinstance(each, float) and math.isnan(each)))
        }
        level = getattr(value, "tightness", PAIR)
        return {"kind": kind} | entries | {name: mark for name, mark, each in _MARKS if each == level}

    def decode(self, data: Any, place: str) -> Any:
        """Return the object that plain data describe; ``DomainError`` names the place of a wrong entry."""
        match data:
            case dict():
                form = pop_form(self.forms, place, data)
                level = PAIR
                for name, mark, tightness in _MARKS if issubclass(form.type, TradeOff) else ():
                    if data.get(name, mark) is not mark:
                        raise domain(f"{place}.{name}", data[name], f"{str(mark).lower()} or left out")
                    level = tightness if name in data else level
                    data.pop(name, None)
                entries = {name: self.decode(each, f"{place}.{name}") for name, each in data.items()}
                thing = form.build(place, entries)
                return thing if level == PAIR else limited(thing, level)
            case list() if set(map(type, data)) <= {float, int}:
                return tuple(data)
            case list():
                return tuple(self.decode(each, f"{place}[{k}]") for k, each in enumerate(data, 1))
            case str() if _NUMBER.fullmatch(data):
                return data[1:] if data[0] == "'" else float(data) if "inf" in data else Fraction(data)
        return data

    def dumps(self, thing: Any, *, indent: int | None = None) -> str:
        """Return the text of a file of ``thing``; ``DomainError`` if a part of it has no form."""
        try:
            content = {"schema": SCHEMA, "tradeoff": self.encode(thing)}
            return json.dumps(content, indent=indent, ensure_ascii=False, allow_nan=False)
        except (ValueError, RecursionError) as error:
            raise DomainError(f"{type(thing).__name__} cannot be saved: {error}") from error

    def loads(self, content: str) -> Any:
        """Return the object of a saved text; ``ValueError`` if it is not one."""
        try:
            data = json.loads(content, parse_float=parse_float)
            if isinstance(data, dict) and data.keys() == {"schema", "tradeoff"}:
                if data["schema"] is True or data["schema"] != SCHEMA:  # True is 1 in Python
                    raise DomainError(f"schema must be {SCHEMA}, got {data['schema']!r}")
                return self.decode(data["tradeoff"], "tradeoff")
        except RecursionError:
            raise DomainError("arrays or tables are nested too deeply") from None
        except json.JSONDecodeError as error:
            raise DomainError(f"the text is not that of a saved file: {error}") from error
        raise DomainError(f'a saved file must hold {{"schema": {SCHEMA}, "tradeoff": ...}}')


def _polygon(alpha: Any, beta: Any, one_minus_alpha: Any = None, one_minus_beta: Any = None) -> TradeOff:
    """Return a polygon of fractions, or of floats with their distances to 1; it must be convex and full."""
    if one_minus_alpha is None and one_minus_beta is None:
        return PiecewiseLinear(alpha, beta)
    x, y = _multiples("alpha", alpha, one_minus_alpha), _multiples("beta", beta, one_minus_beta)
    points = list(zip(x, y, strict=True))
    inside = points and x[0] == 0 == y[-1] and min(y) == 0 and x[-1] <= ONE
    if not inside or hull(points) != points:
        remedy = "save PiecewiseLinear.hull(alpha, beta)"
        raise DomainError(f"alpha and beta must be the vertices of a convex curve; {remedy}")
    return PiecewiseLinear.of_wholes(x, y)


def _multiples(name: str, values: Any, complements: Any) -> list[int]:
    """Return numbers as integers in units of 2^-1074, from the smaller of each and its distance to 1."""
    x, rest = reals(name, values), reals(f"one_minus_{name}", complements)
    if x.shape != rest.shape or not np.all(abs(x + rest - 1) <= 1e-15):
        raise DomainError(f"{name} + one_minus_{name} must be 1")
    pairs = zip(x.tolist(), rest.tolist(), strict=True)
    return [whole(v) if v <= 0.5 else ONE - whole(r) for v, r in pairs]


def _subsampled(curve: Any, rate: Any, flipped: Any) -> TradeOff:
    """Return rate f + (1 - rate) Id, or if ``flipped`` its inverse."""
    if not 0 < exact_number("rate", rate, 0, 1) < 1:
        raise domain("rate", rate, "in (0, 1)")
    if not isinstance(flipped, bool):
        raise domain("flipped", flipped, "true or false")
    return Subsampled(operand(curve), rate, flipped=flipped)


def _shift(law: Any, arguments: Any, shift: Any) -> TradeOff:
    """Return the curve of the law of this name in scipy.stats, with these arguments, against its shift."""
    import scipy.stats

    distribution = getattr(scipy.stats, law, None)
    if not isinstance(distribution, scipy.stats.rv_continuous):
        raise DomainError(f"law must be a continuous distribution of scipy.stats, got {shown(law)}")
    return LocationShift(distribution(**dict(arguments)), shift)


def _family(kind: Any, name: str, exact: str, build: Callable[[Fraction], TradeOff]) -> Form:
    """Return the form of a family whose curves are saved by the float ``name`` or the fraction ``exact``.

    The second is of products and groups that no float describes, as mu^2 = 2 of G_1 @ G_1; else it is None.
    """

    def make(**given: Any) -> TradeOff:
        if exact not in given:
            return kind(given.get(name))  # type: ignore[no-any-return]  # a curve
        return build(exact_number(exact, given[exact], 0, math.inf, open_low=True, open_high=True))

    # ``Form`` takes the names of entries from the signature.
    both = [Parameter(each, Parameter.KEYWORD_ONLY, default=None) for each in (name, exact)]
    make.__signature__ = Signature(both)  # type: ignore[attr-defined]  # functions take attributes
    return Form(kind, make, **{name: lambda f: None if getattr(f, exact) else getattr(f, f.parameter)})


_OPERANDS, _FIRST = attrgetter("operands"), lambda f: f.operands[0]
_PLAIN = (
    *(Identity, Truncated, ZeroConcentrated, discrete.AllocatedCurve, discrete.ShuffledCurve),
    *(discrete.ShuffledPairCurve, discrete.CorrelatedCurve, discrete.SkellamCurve, discrete.BinomialCurve),
    *(discrete.DiscreteGaussianCurve, discrete.DiscreteLaplaceCurve),
)

CURVES = Codec(
    {
        **{kind_name(each): Form(each) for each in _PLAIN},
        "gaussian": _family(Gaussian, "mu", "square", Gaussian.from_weight),
        "laplace": _family(Laplace, "epsilon", "shift", Laplace.from_shift),
        "pure-dp": Form(PureDP, epsilon=attrgetter("epsilon_0")),
        "total-variation": _family(TotalVariation, "delta", "product_weight", TotalVariation.from_weight),
        "bounded-range": Form(BoundedRange, epsilon=attrgetter("epsilon_0")),
        "gaussian-mixtures": Form(
            GaussianMixtures,
            lambda null, alternative, sigma: GaussianMixtures(dict(null), dict(alternative), sigma),
            null=lambda f: list(f.null.items()),
            alternative=lambda f: list(f.alternative.items()),
        ),
        "location-shift": Form(LogConcaveShift, _shift, law=attrgetter("name")),
        "piecewise-linear": Form(
            PiecewiseLinear,
            _polygon,  # of each float and its distance to 1 the smaller is exact
            one_minus_alpha=lambda f: None if f.is_rational else f.complements[0],
            one_minus_beta=lambda f: None if f.is_rational else f.complements[1],
        ),
        "product": Form(
            Tensor,
            lambda factors: tensor((operand(curve), count("factors", n, 1)) for curve, n in factors),
            factors=lambda f: list(f.factors.items()),
        ),
        "subsampled": Form(Subsampled, _subsampled, curve=_FIRST, rate=attrgetter("p")),
        "mixture": Form(
            Mixture,
            lambda curves, weights: mixture(dict(zip(curves, weights, strict=True))),
            curves=_OPERANDS,
            weights=attrgetter("shares"),
        ),
        "minimum": Form(HullOfMinimum, lambda curves: minimum(*curves), curves=_OPERANDS),
        "maximum": Form(Maximum, lambda curves: maximum(*curves), curves=_OPERANDS),
        "either-order": Form(Envelope, lambda curve: curve.symmetrise(assume="either-order"), curve=_FIRST),
        "profile-symmetrised": Form(
            ProfileSymmetrised, lambda curve: curve.symmetrise(assume="profile"), curve=_FIRST
        ),
        "inverse": Form(Inverse, lambda curve: operand(curve).inverse(), curve=_FIRST),
        "group": Form(Group, lambda curve, k: operand(curve).group(k), curve=_FIRST),
    }
)
