"""Arguments that are refused: an expression, and a part of the sentence that its error is."""

import builtins
import math
import re
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
import sympy
from matplotlib.figure import Figure

import tradeoff as to
from tradeoff import errors
from tradeoff.families import discrete
from tradeoff.report import plot

# Expressions apart by "; " have one message, of a DomainError unless it names another; … is any text.
ROWS = """
to.from_masses([0.5], [1.0]) => p must add to 1, got 0.5
to.from_masses([1 + 2e-9], [1.0]); to.from_masses([F(1, 2), F(1, 3)], [1, 0]) => must add to 1
to.from_masses([np.nan, 1], [1, 0]) => p[0] must be in … got nan
to.from_masses([-0.1, 1.1], [1, 0]) => p[0] must be in …, got -0.1
to.from_masses([1, 0], {"a": 1}) => mapping
to.from_masses([1], [1, 0]) => 1 masses
to.from_masses("ab", [1, 0]); to.from_masses(np.eye(2), np.eye(2)) => must be a list of masses
to.from_masses([[1], [0]], [1, 0]) => one real number
to.from_masses([True], [1]) => True
to.PiecewiseLinear.hull([0.5], [0.5, 0.1]); to.PiecewiseLinear.hull([2.0], [0.0]) => CurveError:
to.PiecewiseLinear.hull([0.1], [np.nan]); to.PiecewiseLinear.hull(3, 4) => CurveError:
to.PiecewiseLinear.hull(["a"], [0.1]) => CurveError:
to.PiecewiseLinear.hull([0, 0.2, 1], [0, 0.6, 1]) => must be the false-negative rate
to.Profile.from_epsilon_delta(lambda _: 1 / 0) => delta(…) raised ZeroDivisionError
to.Profile.from_epsilon_delta(lambda _: 1 / 0, [1.0]) => delta(…) raised ZeroDivisionError
to.Profile.from_epsilon_delta([]); to.Profile.from_epsilon_delta({}); to.Profile.from_epsilon_delta([1]) =>
to.Profile.from_epsilon_delta(lambda _: 2.0); to.Profile.from_epsilon_delta(lambda _: np.nan) =>
to.Profile.from_epsilon_delta([(1, 2)]); to.Profile.from_epsilon_delta([(-1, 0.1)]) =>
to.Profile.from_epsilon_delta({1.0: 0.1}, epsilons=[1.0]) => epsilons are for a function

to.GaussianMixtures({0: 1}, {1: 1, 2: 0.1}, 1); to.GaussianMixtures({0: 1}, {0: 1.5, 1: -0.5}, 1) =>
to.GaussianMixtures({0: 1}, {math.nan: 1}, 1); to.GaussianMixtures({0: 1}, {math.inf: 1}, 1) =>
to.GaussianMixtures({0: 1}, [0.5, 0.5], 1) => KindError:
to.GaussianMixtures({0: 1}, {"0": 1}, 1); to.GaussianMixtures({0: 1}, {0: 0.5, 1: 0.5}, 0) =>

to.LocationShift(st.pareto(3), 1.0) => not known to be log-concave…from_scipy
to.LocationShift(st.beta(0.5, 2), 1.0); to.LocationShift(st.gennorm(0.5), 1.0) => in their log-concave shapes
to.LocationShift(st.truncnorm(2, 1), 1.0); to.LocationShift(st.t(-1), 1.0) => support
to.LocationShift(st.exponnorm(1.0), 1.0) => assume_log_concave
to.LocationShift(st.poisson(3), 1.0) => continuous
to.LocationShift(st.logistic(scale=-1), 1.0) => scale
to.LocationShift(st.logistic(loc=np.array([1, 2])), 1.0) => loc of logistic must be one real number
to.LocationShift(st.logistic(), np.inf) => shift
to.LocationShift(st.logistic(), 1e6) => shift/scale

to.from_scipy(st.norm, st.norm()) => p must be a frozen
to.from_scipy(st.norm(), 3) => q must be … got 3
to.from_scipy(st.norm(), st.norm(0, 2), breaks=[1.0]) => extremum near
to.from_scipy(st.norm(), st.norm(0, 2), breaks=[np.nan]) => finite
to.LocationShift(st.gamma(-1.0), 1); to.from_scipy(st.gamma(-1.0), st.gamma(1.0)) => gamma…support
to.from_scipy(st.norm(), st.beta(np.nan, 1)) => a of beta must be in [-inf, inf], got nan
to.from_scipy(st.binom(10, 2.0), st.binom(10, 0.5)) => binom(10, 2.0) must be a law
to.from_scipy(st.poisson(3), st.poisson(np.nan)) => poisson(nan) must be a law
to.from_scipy(st.geom(p=0.0), st.geom(0.5)) => geom(p=0.0) must be a law
to.from_scipy(st.poisson([1, 2]), st.poisson(1)) => one number
to.from_scipy(st.poisson(1), st.poisson(1, loc=[0, 1])) => one number
to.from_scipy(st.poisson(3, loc=np.inf), st.poisson(3)) => median
to.from_densities(3, st.norm.pdf) => p must be a function
to.from_densities(lambda _: 0.5, st.norm.pdf) => takes an array
to.from_densities(lambda x: -np.ones_like(x), st.norm.pdf) => must be in [0, inf), … not its logarithm
to.from_densities(lambda x: math.exp(-abs(x)), st.norm.pdf) => p must take an array
to.from_densities(lambda x: x * np.nan, st.norm.pdf) => must be in [0, inf)
to.from_densities(lambda x: 2 * st.norm.pdf(x), st.norm.pdf) => to 1 … got 2
to.from_densities(st.norm.pdf, st.norm.pdf, support=(1, 0)) => two increasing numbers
to.from_densities(st.norm.pdf, st.norm.pdf, breaks="x") => breaks
to.from_densities(lambda _: "a", st.norm(1).pdf) => p(x) must be an array of real numbers, got
to.from_densities(lambda _: 10**400, st.norm(1).pdf) => p(x) must be in the range of floats, got 1000

B.basic_composition(-0.1); B.basic_composition(math.nan); B.basic_composition([0.1, 0.2], [0.0, 0.0, 0.0]) =>
B.basic_composition(0.1, 1.5); B.basic_composition(0.1, n=-1); B.advanced_composition(0.1, n=10, slack=0.0) =>
B.advanced_composition(0.1, n=10, slack=0.1, form="other"); B.zcdp_route(-1, 1e-5); B.laplace_basic(0.0) =>
B.advanced_composition([0.1, 0.2], slack=0.1, form="k-fold"); B.zcdp_route(1, 1e-5, conversion="other") =>
B.renyi_route(to.Gaussian(1), 1e-5, orders=[]); B.renyi_route(to.Gaussian(1), 1e-5, orders=[1.0]) =>
B.exact_gaussian(1.0, 0.0); B.exact_gaussian(-1.0, 0.1); B.classical_gaussian(0.5, 1e-5, sensitivity=0) =>
B.laplace_basic(1.0, n=0); B.laplace_advanced(1.0, 2.0) =>

C.from_zcdp(-1); C.from_zcdp(math.nan); C.from_zcdp(1, xi=-1); C.from_zcdp("1"); C.from_renyi({}) =>
C.from_renyi(3.0); C.from_renyi({0.5: 1.0}); C.from_renyi({2: -1.0}); C.from_renyi({2: math.nan}) =>
C.from_renyi({2: 1.0}, assume="either"); C.from_renyi(lambda a: a / 0) =>

L.dp_sgd_clt(1.5, 1, 10); L.dp_sgd_clt(0.1, 0, 10); L.dp_sgd_clt(0.1, 1, 2.5); L.epsilon_delta_clt(-0.1) =>
L.dp_sgd_clt(0.1, 1, 10, scheme="shuffle"); L.dp_sgd_clt(0.1, math.nan, 10); L.epsilon_delta_clt(math.nan) =>
L.epsilon_delta_clt([0.1, 0.2], [0.0, 0.0, 0.0]); L.epsilon_delta_clt(0.1, 1.5) =>
L.clt(to.Laplace(0.1) ** 100)(1.2); L.berry_esseen(to.Laplace(0.1)).lower(-0.1) =>
L.berry_esseen(to.Laplace(0.1)).lower(1.1); L.berry_esseen(to.Laplace(0.1)).lower(math.nan) =>
L.berry_esseen(to.Laplace(0.1)).lower("a"); L.berry_esseen(to.Laplace(0.1), constants="mine") =>

to.audits.one_run(5, 4, 10) => correct must be an integer from 0 to 4, got 5
to.audits.one_run(1, 11, 10) => guesses must be an integer from 0 to 10, got 11
to.audits.one_run(-1, 4, 10) => correct must be an integer from 0 to 4, got -1
to.audits.one_run(1, 4, 0) => canaries must be an integer from 1 to 9007199254740992, got 0
to.audits.one_run(1.5, 4, 10) => correct must be an integer from 0 to 4, got 1.5
to.audits.one_run(1, 2, 3, delta=2.0) => delta must be in [0, 1], got 2.0
to.audits.one_run(1, 2, 3, confidence=1.0) => confidence must be in (0, 1), got 1.0
to.audits.one_run(1, 2, 3).p_value(-1.0) => epsilon must be in [0, inf], got -1.0
to.empirical([], [1.0]) => null_scores must be one list of numbers, got []
to.empirical([1.0], [[1.0]]) => alternative_scores
to.empirical([1.0, np.nan], [1.0]) => null_scores[1] must be a number, got nan
to.empirical(["a"], [1.0]) => null_scores
to.empirical([1.0], [1.0], 1.0) => confidence must be in (0, 1), got 1.0
to.empirical([1.0], [1.0], 0.0); to.audits.from_losses([0.0], [0.0], 2.0) => confidence
to.empirical([0.0], [1.0]).epsilon(2.0) => delta must be in [0, 1], got 2.0
to.empirical([0.0], [1.0]).delta(np.nan) => epsilon must be in [-inf, inf], got nan
to.empirical([0.0], [1.0]).mu(1.0) => failure must be in [0, 1), got 1.0
to.empirical([0.0], [1.0], thresholds=[]) => thresholds
to.empirical([0.0], [1.0]).refutes(to.mechanisms.Gaussian) => KindError:
to.audits.from_counts(3, (1, 2)) => null must be a pair (hits, trials), got 3
to.audits.from_counts((3, 2), (1, 2)) => hits of null
to.audits.from_counts((0, 0), (1, 2)) => trials of null
to.audits.from_losses([np.inf], [0.0]) => losses_under_p must be less than inf, got inf
to.audits.from_losses([0.0], [-np.inf]) => losses_under_q must be greater than -inf, got -inf
to.audits.from_losses([], [0.0]) => must be one list
to.audits.from_losses([0.0], [np.nan]) => must be a number, got nan
to.audits.from_losses([0.0], [0.0]).delta(np.nan) => epsilon must be in …, got nan
to.Gaussian(1).tpr(fpr=-0.1) => fpr must be in [0, 1], got -0.1
to.Gaussian(1).risks(fpr=-0.1) => fpr
to.Gaussian(1).risks(baseline=1.2) => baseline
to.Gaussian(1).risks(prior=1.0) => prior
to.Gaussian(1).risks(recall=0.0) => recall
to.Gaussian(1).risks(outcome=0.0) => outcome

to.sweep(ADD, {}); to.sweep(ADD, [("x", [1])]) => non-empty mapping
to.sweep(ADD, {"x": []}) => grid['x'] must be a non-empty sequence of values, got []
to.sweep(ADD, {3: [1]}) => an argument of grid must be a str, got 3
to.sweep(3, {"x": [1], "y": [2]}) => function must be callable with x, y, got 3
to.sweep(ADD, {"x": [1], "y": [2]}, n_jobs=0); to.sweep(ADD, {"x": [1], "y": [2]}, n_jobs=1.5) => n_jobs
to.sweep(ADD, {"x": [1], "y": [2]}, n_jobs=True); to.sweep(ADD, {"x": [1], "y": [2]}, n_jobs="all") => n_jobs
to.sweep(ADD, {"x": [1], "y": [2]}, n_jobs=10**9) => n_jobs

to.calibrate(NOISE, {"epsilon": 0, "delta": 0}) => at no number tried
to.calibrate(NOISE, {"epsilon": 1, "delta": 0}) =>
    infinite; …noise_multiplier must be at least 0.0001, got …; allow more loss
to.calibrate(NOISE, {"beta": 0, "alpha": 0.5}) => at every number tried
to.calibrate(lambda s: G(1 / s) @ to.TotalVariation(1e-3), {"epsilon": 1, "delta": 1e-4}) => infinite
to.calibrate(lambda _: G(1), {"mu": 2}) => does build use its number
to.calibrate(lambda s: G(1) @ NOISE(s).curve(), {"epsilon": 3, "delta": 1e-5}) =>
    <= 3, which is out of reach: the other mechanisms alone cost epsilon >= 4.377
to.calibrate(lambda s: G(1) @ NOISE(s).curve(), {"beta": 0.9, "alpha": 0.05}) => cost beta <= 0.7405 at alpha
to.calibrate(lambda x: x / 0, {"mu": 1}) => build(1.0) raised ZeroDivisionError
to.calibrate(lambda q: to.subsample(to.PureDP(1), q), {"advantage": 0.9}) =>
    every number tried…p must be in [0, 1]
to.calibrate(NOISE, {"epsilon": -1, "delta": 0.1}) => epsilon must be
to.calibrate(NOISE, {"epsilon": 1}) => target must be a mapping with keys {epsilon, delta}, got {'epsilon': 1}
to.calibrate(NOISE, {"mu": 1, "failure": 1}) => failure must be
to.calibrate(NOISE, {"beta": 0.6, "alpha": 0.5}) => no curve is above 1 - alpha
to.calibrate(NOISE, {"bayes_risk": 0.3, "prior": 0.2}) => bayes_risk must be
to.calibrate(NOISE, {"curve": G(0.5)}, between=(0.5, 1.0)) => is [0, 0] at 0.5, [0, 0] at 1; allow
to.calibrate(lambda n: G(1) @ G(0.1) ** n, {"mu": 0.5}, integer=True) =>
    alone cost mu >= 1 at failure = 1e-10 (0 if Gaussian); allow more loss$
to.calibrate(NOISE, {"mu":1}, between=(1,1)); to.calibrate(NOISE, {"mu":1}, between=(0,1)) => between must be
to.calibrate(G, {"mu": 0}); to.calibrate(to.PureDP, {"mu": 0}) => delta at epsilon = 0 <= 0, which holds at no
to.calibrate(NOISE, {"mu": 1.0}, between=(5, 6)) => between
to.calibrate(NOISE, {"mu": 1.0}, between=np.array(3.0)) => between must be a pair of numbers
to.calibrate(NOISE, {"mu": 1.0}, tol=0) => tol must be
to.calibrate(G, {"mu": 1.0}, integer=1) => KindError: True or False
to.calibrate(G(1.0), {"mu": 1.0}) => KindError: build must be a function from a number to a curve, got G_{1}
to.calibrate(lambda _: None, {"mu": 1.0}) => KindError: build(1.0) must return a curve, a mechanism or a plan$
to.calibrate(RAISING, {"mu": 1.0}) => raised ValueError: one two;
to.calibrate(lambda _: M.Gaussian, {"mu": 1.0}) => KindError: must return an instance, got the class Gaussian
to.calibrate(NOISE, {"mu": 1.0}, between=(1e-160, 1e3)) => two numbers with answers, got none at 1e-160

to.allocate([], TARGET); to.allocate([NOISE], {"epsilon": 1.0}) =>
to.allocate(3, TARGET); to.allocate([()], TARGET); to.allocate([G(1.0)], TARGET) => KindError:
to.allocate([NOISE], {"epsilon": 0.0, "delta": 1e-6}); to.allocate([NOISE], {"beta": 0.8, "alpha": 0.1}) =>
to.allocate([lambda s: G(1 / s) @ to.TotalVariation(1e-3)], TARGET) =>
to.allocate([NOISE, lambda _: G(0.1)], TARGET) =>
to.allocate({"a": NOISE}, TARGET) => KindError: build must be a function of a scale or a mechanism, got 'a'
to.allocate([lambda s: s], TARGET); to.allocate([M.PureDP(1.0)], TARGET) => KindError:
to.allocate([M.SubsampledGaussian(1.0, 0.01), REPLACED], TARGET) => PlanError:
to.allocate([NOISE], TARGET, 2.0) => KindError: cost must be a function of the scales
to.allocate([NOISE, NOISE], TARGET, lambda _: None) => the cost must be one real number, got None
to.allocate([NOISE], TARGET, lambda _: float("inf")) => the cost must be in (0, inf), got inf
to.allocate([(NOISE, 1, 1e308), (NOISE, 1, 1.0)], TARGET) => the cost must be in (0, inf), got inf

(G(1) @ to.TotalVariation(1e-7)).sensitivities(); (G(1) @ to.TotalVariation(1e-7)).sensitivities(delta=0.0) =>
(G(1) @ to.TotalVariation(1e-7)).sensitivities(delta=1e-5, epsilon=1.0) =>
(G(1) @ to.TotalVariation(1e-7)).sensitivities(delta=1e-8) =>
to.TotalVariation(1).sensitivities(epsilon=0.1) => ^delta must allow …, got 1.0
to.PiecewiseLinear([0, 0.3, 1], [0.9, 0.3, 0]).sensitivities(delta=0.15) => give a larger delta$

to.dp_sgd(1.1, epochs=1) => either batch_size and dataset_size, or sample_rate, got
to.dp_sgd(1.1, sample_rate=0.1) => either epochs or steps, got
to.dp_sgd(1.1, sample_rate=0.1, epochs=1, steps=10) => either epochs or steps, got
to.dp_sgd(1.1, batch_size=90, dataset_size=80, epochs=1) => batch_size must be an integer from 1 to 80
to.dp_sgd(1.1, sample_rate=1.5, steps=10) => sample_rate must be in (0, 1], got 1.5
to.dp_sgd(1.1, sample_rate=0.1, epochs=0) => epochs must be in
M.Custom(M.Laplace(scale=1)) => KindError: write Laplace(...).guarantee()
to.plot([G(1), G(2)]) => KindError: write plot(f, g)
M.Custom(3) => KindError: 3 is not a trade-off function
M.Custom(G(1), other_order="f") => KindError: is not a trade-off function
M.Custom(G(1), adjacency="zero-out") => adjacency must be
M.Custom(G(sympy.Symbol("mu"))) => SymbolError: free symbols mu

to.certify(G(1), "mu", 0.1) => question must be one of 'delta', 'epsilon', 'beta'
to.certify(G(1), "beta", 2.0) => alpha must be in
to.certify(to.approximate_dp(1, 0.1), "epsilon", 0.05) => delta must be above the mass at infinity
to.certify(M.Gaussian(noise_multiplier=1), "delta", 1.0) => KindError: guarantee
to.compare(to.Plan({})) => KindError: is a Plan,…write Plan(...).guarantee()
to.compare(G(1), ["ctl"]) => method must be one of 'clt', …, got 'ctl'
to.compare(G(1), ["clt"])["nothing"] => method must be one of …, got 'nothing'
to.compare(G(1), [], delta=["small"]) => delta
to.compare(G(1), 3) => methods must be names, or a mapping
to.statement(G(1), delta=1e-6) => KindError: plan must be a Plan or a mechanism, got G_
to.statement(M.Gaussian(noise_multiplier=1), delta=-1) => delta must be in [0, 1], got -1

G(1.0).divergence("kullback") => one of 'kl'
G(1.0).divergence(lambda t: -t * t) => not convex
G(1.0).divergence(lambda _: math.nan) => nan
G(1.0).divergence(lambda _: None) => TypeError
G(1.0).divergence(lambda _: {}["F"]) => function… raised KeyError
G(1.0).divergence(lambda t: 1 / (t - t)) => function… raised ZeroDivisionError
G(1).law.quantile(0.5, under="R") => under must be one of 'P', 'Q', got 'R'
G(1).law.quantile(0.0); G(1).law.quantile(1.0); G(1).law.quantile(math.nan) => level must be
G(1).law.quantile("x") => level must be
G(1).law.sample(3, None); G(1).law.sample(3, 42) => KindError: rng must be
G(1).law.sample(10**30, np.random.default_rng(1)) => size must be

to.Plan({STEP: 1}, "replace-one") => PlanError: stated for add-remove neighbours, and the plan for replace-one
to.Plan({}, "bounded") => PlanError: adjacency must be one of 'add-remove', 'replace-one', got 'bounded'
to.Plan({G(0.5): 3}) => KindError: write tradeoff.mechanisms.Gaussian(noise_multiplier=2)
to.Plan({to.Laplace(0.1): 3}) => KindError: write tradeoff.mechanisms.Laplace(scale=10)
to.Plan({G(1) @ to.Laplace(1): 3}) => KindError: compose curves with @
to.Plan({"x": 3}); to.Plan({M.Laplace: 3}) => KindError: must be one of tradeoff.mechanisms

G(math.nextafter(1e4, math.inf)) => ^mu must be in [0, 10000], or inf, got 10000.000000000002
G(-1) => ^mu must be in [0, inf], got -1
to.Laplace(math.nextafter(1e4, math.inf)) => ^epsilon must be in [0, 10000], got 10000.000000000002
to.PureDP(math.nextafter(1e4, math.inf)) => ^epsilon must be in [0, 10000], got 10000.000000000002
to.TotalVariation(1.5) => ^delta must be in [0, 1], got 1.5
to.TotalVariation("0.5") => ^delta must be one real number, got '0.5'; convert the text
to.TotalVariation(5e-324) => ^delta must be 0 or in [1e-300, 1], got 5e-324; round it up
to.subsample(G(1), 2) => ^p must be in [0, 1], got 2
to.subsample(G(1), 1e-301) => ^p must be 0 or in [1e-300, 1], got 1e-301; round it up
D.DiscreteGaussianCurve(1e-5, 2) => ^sigma must be at least 0.0002 for a shift of 2, got 1e-05
D.DiscreteLaplaceCurve(9e-5, 1) => ^scale must be at least 0.0001 for a shift of 1, got 9e-05
D.SkellamCurve(1e-9, 1) => ^variance must be at least 1e-08 for a shift of 1, got 1e-09
to.GaussianMixtures({0: 1}, {1: 1}, 9e-5) =>
    ^sigma must be at least 1e-4 of the range of the means, 0 to 1, got 9e-05
G(1) ** (10**12 + 1) => ^n must be an integer from 0 to 1000000000000, got 10000000000
G(1) ** -1 => ^n must be an integer from 0 to 1000000000000, got -1
G(1) ** 1.5 => ^n must be an integer from 0 to 1000000000000, got 1.5
G(1).renyi(2e6) => ^order must be in (0, 1e+06] or infinite, got 2000000.0
G(1).epsilon(1.5) =>
    ^delta must be in [0, 1], got 1.5; epsilon(delta) takes a probability, delta(epsilon) a loss
G(1).epsilon(-0.1) => ^delta must be in [0, 1], got -0.1
G(1)([0.1, 1.5, 2.0]) => ^alpha[1] must be in [0, 1], got 1.5
G(1).delta(math.nan) => ^epsilon must be in [-inf, inf], got nan
G(type("U", (), {"__repr__": lambda _: "<f at 0x1D2A>"})()) => got <f>;

G(1) + G(2); G(1) * 10; 10 * G(1) => TypeError: composed by @ and
M.Gaussian(noise_multiplier=2) * 10 => TypeError: or compose mechanisms in Plan({mechanism: count})
to.sweep(abs, pair=[(1, 2), (3,)]) => TypeError: 'pair'; write sweep(function, {'pair': [(1, 2), (3,)]})
to.calibrate(G, mu=1, failure=0) => TypeError: 'mu'; write calibrate(build, {'mu': 1, 'failure': 0})
to.calibrate(G, {}, failure=0) => TypeError: ; write calibrate(build, {'mu': ..., 'failure': 0})
to.calibrate(G, TARGET, start=3) => TypeError: 'start'; its parameters are build, target, between
to.certify(G(1), delta=0.1) => TypeError: 'delta'; write certify(curve, "epsilon", delta)
M.SubsampledGaussian(sigma=1, sample_rate=0.1) => TypeError: did you mean noise_multiplier
M.SubsampledGaussian(1, q=0.1) => TypeError: no parameter 'q'; did you mean sample_rate?
M.Gaussian(noise_multiplier=1, steps=3) => TypeError: steps'; the number of runs is that of a Plan
M.SubsampledGaussian(1, 1, epochs=3); M.SubsampledGaussian(1, 1, num_epochs=3) =>
    TypeError: the number of runs, epochs over sample_rate, is that of a Plan, or of SubsampledGaussian
M.Gaussian(2) => TypeError: by name, as in Gaussian(noise_multiplier=2); the curve tradeoff.Gaussian(mu)
M.Laplace(10) => TypeError: by name, as in Laplace(scale=10); the curve tradeoff.Laplace(epsilon)
M.Laplace(epsilon=1) => TypeError: no parameter 'epsilon'; scale is the sensitivity over epsilon
M.Laplace(scales=1) => TypeError: did you mean scale?
M.PureDP(alpha=1) => TypeError: its parameters are epsilon
to.dp_sgd(sigma=1, q=0.1, num_steps=9) => TypeError: noise_multiplier?…sample_rate?…did you mean steps?
G(sigma=1) => TypeError: use tradeoff.mechanisms.Gaussian(noise_multiplier=...)$
to.Laplace(scale=2) => TypeError: use tradeoff.mechanisms.Laplace(scale=...)$
G(1).beta => AttributeError: use f(alpha)
G(1).eps; to.PureDP(1).eps; (to.Laplace(1) @ G(1)).eps; to.epsilon => AttributeError: use f.epsilon(delta)
G(1).roc => AttributeError: use f.tpr(fpr), or tradeoff.plot(f, kind="roc")
G(1).compose => AttributeError: use f @ g and f ** n
to.Laplace(1).mu => AttributeError: use f.gdp().mu
to.allocate([NOISE], mu=1, failure=0) => TypeError: 'mu'; write allocate(parts, {'mu': 1, 'failure': 0})
to.allocate([NOISE], TARGET, weights=[1]) => TypeError: 'weights'; its parameters are parts, target, cost
to.allocate([NOISE], advantage=1) => TypeError: 'advantage'; its parameters are parts, target, cost
G(1).guarantee => AttributeError: covers both orders
G(1).nothing; to.nothing => AttributeError: no attribute 'nothing'$
to.dpsgd => AttributeError: did you mean dp_sgd
to.compose => AttributeError: compose curves with f @ g
to.SubsampledGaussian => AttributeError: use tradeoff.mechanisms.SubsampledGaussian
to.from_history => AttributeError: use tradeoff.interop.opacus

Gaussian(noise_multiplier=0); TreeAggregation(0, 1) => ^noise_multiplier must be in (0, inf], got 0
Gaussian(noise_multiplier='2') => ^noise_multiplier must be one real number, got '2'
Gaussian(noise_multiplier=10**400) =>
    ^noise_multiplier must be in (0, inf], got 10000000000000000000000000000000000000000000000000000
Laplace(scale=0) => ^scale must be in (0, inf], got 0
Laplace(scale=1, sensitivity=0) => ^sensitivity must be in (0, inf), got 0
Laplace(scale=1, sensitivity=math.inf) => ^sensitivity must be in (0, inf), got inf
Laplace(scale=1e-320) => ^scale must be at least 0.0001, got 1e-320
SubsampledGaussian(noise_multiplier=1, sample_rate=1.5) => ^sample_rate must be in [0, 1], got 1.5
SubsampledGaussian(noise_multiplier=1, sample_rate=-0.1) => ^sample_rate must be in [0, 1], got -0.1
SubsampledLaplace(scale=1, sample_rate=math.nan) => ^sample_rate must be in [0, 1], got nan
RandomizedResponse(epsilon=-1); ShuffledRandomizers(-1, 10) => ^epsilon must be in [0, 700], got -1
RandomizedResponse(epsilon=1, categories=1) => ^categories must be an integer from 2 to MOST, got 1
RandomizedResponse(epsilon=1, categories=2.5) => ^categories must be an integer from 2 to MOST, got 2.5
PureDP(epsilon=math.inf) => ^epsilon must be in [0, 10000], got inf
ApproximateDP(epsilon=1e-5, delta=1) => ^delta must be at most 0.1 for 0 < epsilon <= 1e-3, got 1.0
ApproximateDP(epsilon=1, delta=2) => ^delta must be in [0, 1], got 2
ApproximateDP(epsilon=1, delta=1e-310) => ^delta must be 0 or in [1e-300, 1], got 1e-310
SubsampledGaussian(1, 5e-324) => ^sample_rate must be 0 or in [1e-300, 1], got 5e-324
DiscreteGaussian(sigma=0) => ^sigma must be in (0, inf), got 0
DiscreteGaussian(sigma=1, sensitivity=0) => ^sensitivity must be an integer from 1 to MOST, got 0
DiscreteLaplace(scale=-1) => ^scale must be in [1e-300, inf), got -1
DiscreteLaplace(scale=1, sensitivity=1.5) => ^sensitivity must be an integer from 1 to MOST, got 1.5
Gaussian(noise_multiplier=[1, 2], sensitivity=3) => ^sensitivity must be a list of 2 numbers
Gaussian(noise_multiplier=[]) => ^noise_multiplier must be a list of at least one real number, got []
Gaussian(noise_multiplier=1, sensitivity=[1, -1]) => ^sensitivity[1] must be in [0, inf), got -1
Gaussian(noise_multiplier=1, sensitivity='1') => ^sensitivity must be one real number, got '1'
TreeAggregation(1, 0) => ^steps must be an integer from 1, got 0
Gaussian(noise_multiplier=1e-5) => ^noise_multiplier must be at least 0.0001, got 1e-05
Gaussian(noise_multiplier=1, sensitivity=1e5) => ^noise_multiplier must be at least 10, got 1.0
Gaussian(noise_multiplier=[1e-5, 1]) => ^noise_multiplier must be larger, got (1e-05, 1.0)
SubsampledGaussian(1e-5, 0.1).curve() => ^noise_multiplier must be at least 0.0001, got 1e-05
SubsampledGaussian(1e-5, 0.1, 'without-replacement').curve() => ^noise_multiplier must be at least 0.0002, got
SubsampledLaplace(1e-5, 0.1, adjacency='replace-one') => ^scale must be at least 0.0002, got 1e-05
ThresholdedKeys(1e-5, 2, noise='gaussian') => ^scale must be at least 0.0001, got 1e-05
BoundedLaplace(1e-5, 10); DiscreteLaplace(1e-5).curve() => ^scale must be at least 0.0001, got 1e-05
TreeAggregation(1e-5, 5).curve() => ^noise_multiplier must be at least 0.000173205, got 1e-05
BallsInBins(1e-5, 3, 4).curve() => ^noise_multiplier must be at least 0.0002, got 1e-05
TreeAggregation(1, 10, participations=0) => ^participations must be an integer from 1 to 128, got 0
TreeAggregation(1, 10, participations=129) => ^participations must be an integer from 1 to 128, got 129
TreeAggregation(1, 10, separation=0) => ^separation must be an integer from 1, got 0
TreeAggregation(1, 10, restarts=[2, 2]) => ^restarts must be increasing, got [2, 2]
TreeAggregation(1, 10, restarts=[10]) => ^restarts must be below steps = 10, got 10
TreeAggregation(1, 10, restarts=[0]) => ^restarts[0] must be an integer from 1 to MOST, got 0
TreeAggregation(1, 10, restarts=3) => ^restarts must be a list of integers, got 3
TreeAggregation(1, 10, completion=1) => ^completion must be True or False, got 1
TreeAggregation(1, 10**20, participations=2) => ^steps must be an integer from 1 to MOST, got 10000000000
MatrixMechanism(1, math.inf) => ^sensitivity must be in [0, inf), got inf
LastIterate(1, 2.5) => ^steps must be an integer from 1, got 2.5
LastIterate(1, 2, contraction=1.1) => ^contraction must be in [0, 1], got 1.1
LastIterate(1, 2, diameter=-1) => ^diameter must be in [0, inf], got -1
TruncatedLaplace(1, bound=0) => ^bound must be in (0, inf), got 0
TruncatedLaplace(math.inf, bound=1) => ^scale must be in (0, inf), got inf
BoundedLaplace(1, width=0.5) =>
    ^width must be in [1, inf), got 0.5; answers of neighbours differ by the sensitivity
BoundedGaussian(math.nan) => ^noise_multiplier must be in (0, inf], got nan
ThresholdedKeys(1, 1) => ^threshold must be in (1, inf], got 1
ThresholdedKeys(1, 5, noise='cauchy') =>
    ^noise must be one of 'laplace', 'gaussian', 'geometric', got 'cauchy'
ThresholdedKeys(1, 5, keys=0) => ^keys must be an integer from 1 to MOST, got 0
ThresholdedKeys(1, 5, noise='geometric', contribution=1.5) =>
    ^contribution must be an integer from 1 to MOST, got 1.5
Rappor(701) => ^epsilon must be in [0, 700], got 701
Rappor(1, hashes=0) => ^hashes must be an integer from 1 to MOST, got 0
SubsetSelection(1, 5, 5) => ^size must be an integer from 1 to 4, got 5
SubsetSelection(1, 1, 1) => ^categories must be an integer from 2 to MOST, got 1
Staircase(1, gamma=2) => ^gamma must be in [0, 1], got 2
Skellam(0) => ^variance must be in (0, inf), got 0
BinomialNoise(0) => ^coins must be an integer from 1 to MOST, got 0
DiscreteGaussianVector(1, 0, 2) => ^squared_sensitivity must be an integer from 1 to MOST, got 0
DiscreteGaussianVector(1, 3, 0) => ^dimension must be an integer from 1 to MOST, got 0
CanonicalNoise(to.Identity()) => ^curve must be below the identity, got Id
CanonicalNoise(to.subsample(to.Gaussian(1), 0.1)) =>
    ^curve must be symmetric, got subsample(G_{1}, 0.1) (one order)
CanonicalNoise(to.PureDP(1e-05)).sample(1, np.random.default_rng(1)) => ^CanonicalNoise(curve=f_{1e-05,0}
CanonicalNoise(to.PureDP(1)).quantile([0.5, 1]) => ^probability must be in (0, 1), got [0.5, 1]
CanonicalNoise(to.PureDP(1)).sample(-3, np.random.default_rng(1)) =>
    ^size must be the shape of an array, got -3; negative dimensions are not allowed
BestOfRuns(Gaussian(noise_multiplier=10), mean=1e12, shape=-0.99).curve() =>
    ^mean = 1000000000000.0 with shape = -0.99 is out of range; give a smaller mean, or a larger sha
TruncatedLaplace(0.9e-9, bound=1.0).curve(); TruncatedLaplace(1.1e9, bound=1.0).curve() => scale must be in [
to.Plan({Laplace(scale=2): 10**5000}) => ^the count of Laplace(scale=2.0
SubsampledGaussian(1, 0.1, 'without-replacement', 'add-remove') =>
    ^adjacency must be 'replace-one' for scheme = 'without-replacement'
SubsampledGaussian(1, 0.1, 'with-replacement') =>
    ^batch_size must be the number of draws for scheme = 'with-replacement', got None
SubsampledGaussian(1, 0.1, batch_size=3) => ^batch_size must be left out for scheme = 'poisson', got 3
SubsampledGaussian(1, 0.1, 'shuffle') => ^scheme must be one of 'poisson'
SubsampledGaussian(1, 0.1, adjacency='zero-out') =>
    ^adjacency must be one of 'add-remove', 'replace-one', got 'zero-out'
SubsampledGaussian(1, 0.1, group_size=0) => ^group_size must be an integer from 1 to MOST, got 0
SubsampledLaplace(1, 0.1, 1, 'without-replacement', group_size=2) =>
    ^group_size must be 1 for scheme = 'without-replacement', got 2
SubsampledGaussian(1, 0.5, group_size=5000).curve() =>
    ^5000 draws of chance 0.5 have more than 512 likely numbers of hits
SubsampledGaussian(1, 0.1, 'with-replacement', batch_size=1.5) =>
    ^batch_size must be an integer from 1 to MOST, got 1.5
Subsampled(SubsampledGaussian(1, 0.1), 0.1, 'without-replacement') =>
    ^mechanism must be for replace-one neighbours, as its sample, got SubsampledGaussian(noise_
TruncatedSubsampledGaussian(1, 0.1, 0, 5) => ^batch_size must be an integer from 1 to 10000000000, got 0
TruncatedSubsampledGaussian(1, 0.1, 3, 10**11) =>
    ^dataset_size must be an integer from 1 to 10000000000, got 100000000000
MixtureOfGaussians(1, [0, 1], [1]) => ^sensitivities and probabilities must have one length, got 2 and 1
MixtureOfGaussians(1, [0, 1], [0.5, 0.4]) => ^probabilities must add to 1, got (0.5, 0.4), sum 0.9
MixtureOfGaussians(1, [0, -1], [0.5, 0.5]) => ^sensitivities[1] must be in [0, inf), got -1
BandedFactorization(1, 0.1, 10, 0) => ^bands must be an integer from 1 to MOST, got 0
RandomAllocation(1, 10, 11) => ^participations must be at most steps = 10, got 11
RandomAllocation(1, 0) => ^steps must be an integer from 1 to 10000000, got 0
ShuffledRandomizers(1, 0) => ^records must be an integer from 1 to 1000000000, got 0
ShuffledRandomizers(1, 9, 4, 4) => ^size must be an integer from 1 to 3, got 4
ShuffledRandomizers(1, 9, size=2) => ^size must be left out without categories, got 2
ShuffledRandomizers(1, 9, 4, randomizer='rappor') =>
    ^categories must be left out for randomizer = 'rappor', got 4
ShuffledRandomizers(0, 9, randomizer='gauss') => ^randomizer must be one of 'rappor', 'laplace', got 'gauss'
ShuffledRandomizers(1, 9).pair(-1) => ^n must be an integer from 0 to 1000000000000, got -1
ReportNoisyMax(1, noise='normal') => ^noise must be one of 'gumbel', 'laplace', 'exponential', got 'normal'
RepeatAndSelect(1, shape=-1) => ^shape must be in (-1, inf), got -1
RepeatAndSelect(10000.0, shape=3) => ^(2 + shape) epsilon must be in [0, 10000], got 50000
BestOfRuns(Gaussian(noise_multiplier=1), mean=0.5) => ^mean must be in [1, 1e+12], got 0.5
BestOfRuns(Gaussian(noise_multiplier=1), mean=2, shape=-1) => ^shape must be in (-1, inf], got -1
BestOfRuns(Gaussian(noise_multiplier=1), 2, 2, 3) => ^shape must be left out with trials, got 2

filters.GDPFilter(-1) => ^mu must be in [0, 10000], got -1
filters.GDPFilter(math.inf) => ^mu must be in [0, 10000], got inf
filters.GDPFilter('1') => ^mu must be one real number, got '1'
filters.IndividualGDPFilter(1e-10, 3) => ^mu must be in [1e-09, 10000], got 1e-10
filters.IndividualGDPFilter(1, -3) => ^records must be an integer from 0
filters.ResidueFilter(0) => ^mu must be in [1e-09, 10000], got 0
filters.ResidueFilter(1, delta=1.0) => ^delta must be in [0, 1), got 1.0
filters.ResidueFilter(1, delta=0.1, step_delta=0.2) => ^step_delta must be in [0, 0.1], got 0.2
filters.RenyiFilter(1, 1) => ^order must be in (1, 1e+06], got 1
filters.ZCDPFilter(1, 1) => ^delta must be in (0, 1), got 1
filters.ZCDPFilter(1, 1e-6, step_delta=math.nextafter(1e-6, 0)) => ^step_delta must leave a share of
filters.ApproximateDPFilter(1, 1e-6, step_delta=1e-6) => ^step_delta must leave a share of
filters.ExPostFilter(math.nan) => ^epsilon must be in [0, 10000], got nan
filters.ExPostFilter(1.0, -1.0) => ^delta must be in [0, 1), got -1.0
filters.ExPost(math.inf) => ^epsilon must be in [0, inf), got inf
filters.ExPost(1.0, 'x') => ^delta must be one real number, got 'x'
filters.SampledFilter(math.inf, 0.1, 1) => ^noise_multiplier must be in (0, inf), got inf
filters.SampledFilter(1, 2, 1) => ^sample_rate must be in [0, 1], got 2
filters.SampledFilter(1, 0.1, 1.5) => ^rounds must be an integer from 0 to 1000000000, got 1.5
filters.SampledFilter(1, 0.1, 2e9) => ^rounds must be an integer from 0 to 1000000000, got 2
filters.GDPFilter(1).spend(G(1 + 6e-13)) => BudgetExceeded: costs 1.000000001, but 1 of 1 remains
filters.MixtureOdometer(0, r=1) => ^delta must be in (0, 1), got 0
filters.FilterOdometer(0.1, at=1e10) => ^at must be in [1e-09, 1e+09], got 1
filters.LinearBoundary(0.1, 0) => ^time must be in [1e-18, 1e+18], got 0

to.plot(G(1), 0.5, ax=AX); to.plot(G(1), "curve", ax=AX) => KindError: not a trade-off function; give a curve
to.plot(G(1), (G(1), 3), ax=AX) => KindError: not a trade-off function; give a curve
to.plot(G(1), M.Gaussian, ax=AX) => KindError: not a trade-off function; give a curve
to.plot(ax=AX) => at least one curve
to.plot(G(sympy.Symbol("mu", positive=True)), ax=AX) => SymbolError:
to.plot(G(1), labels=["a", "b"], ax=AX) => labels must be a list of texts, one for each
to.plot(G(1), ax=AX, progress=True); to.plot(G(1), ax=AX, label="a") => must not be given, got
to.plot(G(1), ax=AX, clip_on=False) => must not be given, got
to.plot(G(1), interactive=True, progress=True) => ^style must be …Invalid property
to.plot((G(0.5), G(1)), ax=AX); to.plot(to.Bounds(G(0.5), G(1)), ax=AX) => give (lower, upper)
to.plot(G(1), columns=3) => columns must be 1 or 2, got 3
to.plot(G(1), style="nature") => style must be None or 'paper', got 'nature'
to.plot(TABLE, kind="roc"); to.plot(TABLE, scale="loglog") => a heat map takes no kind
plot.heatmap({"x": [1.0]}) => KindError:

STEPS.epsilon(1e-5, tolerance=3) => TypeError: unknown keyword 'tolerance'; a question takes method, memory
STEPS.epsilon(1e-5, tolerance=None) => TypeError: unknown keyword 'tolerance'; a question takes method
STEPS.epsilon(1e-5, memory="1"); STEPS.epsilon(1e-5, memory=1e6) => memory
STEPS.epsilon(1e-5, n_jobs=0); STEPS.epsilon(1e-5, n_jobs="2"); STEPS.epsilon(1e-5, n_jobs=2.5) => n_jobs
STEPS.epsilon(1e-5, n_jobs=-(10**9)) => n_jobs
STEPS.epsilon(1e-5, progress=3) => progress
STEPS.epsilon(1e-5, method="guess"); STEPS.epsilon(1e-5, method=[]) => method
STEPS.epsilon(1e-5, tol=0.0); STEPS.epsilon(1e-5, tol=math.nan) => tol

to.sweep(lambda x: {"a": 0} if x == 1 else {"b": 0}, {"x": [1, 2]}) =>
    the columns at the point x = 2 are ['b'], and those at the point x = 1 are ['a']
to.sweep(lambda x: {} if x == 1 else {"b": 0}, {"x": [1, 2]}) =>
    the columns at the point x = 2 are ['b'], … are []
to.sweep(lambda x: {"b": x, 1: 1}, {"x": [1]}) => a column at the point x = 1 must be named by a str, got 1
to.sweep(lambda x: {"x": x}, {"x": [1]}) => must not have the names of arguments, got ['x']
to.plot(to.sweep(ONE, {"x": [1.0, 2.0]}), ax=AX) => must have two parameters and an answer
to.plot(to.sweep(ONE, {"x": [1.0, 2.0], "y": [1.0, 2.0], "z": [1.0, 2.0]}), ax=AX) =>
    column must be one of …, got 'upper'
to.plot(to.sweep(ONE, {"x": [1.0, 2.0], "y": [1.0]}), ax=AX) =>
    must be a grid of two or more values each, got 2 rows
to.plot(to.sweep(ONE, {"x": ["a", "b"], "y": [1.0, 2.0]}), ax=AX) => x must be an array of real numbers
to.plot(to.sweep(lambda **_: np.inf, {"x": [1.0, 2.0], "y": [1.0, 2.0]}), ax=AX) =>
    must have a finite value

MatrixMechanism(1.0) => takes one of sensitivity and strategy, got neither
MatrixMechanism(1.0, sensitivity=1, strategy=[1]) => got both
MatrixMechanism(1.0, sensitivity=1, bins=2) => bins must be left out without a strategy, got 2
MatrixMechanism(1.0, strategy=[1]) => scheme must be given with a strategy, got None
BINNED([1, 2, 3], 2, 1) => must have bins * epochs = 2 steps, got 3
BINNED([[1, 1], [0, 1]], 2, 1) => must be square and lower triangular
BINNED([0.0], 2, 1) => the largest entry of strategy must be
BINNED("abc", 2, 1) => strategy must be a list of finite numbers
BINNED([1], 10**6, 1) => bins must be so few
MixtureOfGaussians(1.0, {0, 5}, (0.9, 0.1)) => must be a list of numbers
CanonicalNoise(to.PureDP(1)).sample(3, None) => KindError: rng must be a numpy.random.Generator, got None
M.Subsampled(G(1), 0.5) => KindError: mechanism must be one of tradeoff.mechanisms, got G_{1}
M.Subsampled(BATCH, 0.1); M.Subsampled(M.BestOfRuns(BATCH, mean=3.0), 0.1) => any number of records
to.maximum(to.PureDP(0.01), G(0.01)).group(10_000).group(10_000) => 100000000
G(1.0).bounds.delta(1.0, method="guess") => contour
STEPS.explain(epsilon=1.0, delta=1e-5) => explain() takes one of epsilon, delta, alpha, got

filters.GDPFilter(epsilon=1) => TypeError: GDPFilter has no parameter 'epsilon'; its parameters are mu
filters.GDPFilter(1.0).spend(filters.ExPost(0.1)) => KindError: a step must be
filters.FilterOdometer(0.05, at=1.0).bound("a"); filters.MixtureOdometer(0.05, r=0.1).bound(None) => clock
filters.StitchedOdometer(0.05, start=0.05).bound(-1.0) => clock
filters.StitchedOdometer(0.05, start=0.05).bound([[1], [1, 2]]) => clock
filters.BrownianMechanism(0.0, rng=0).refine(0.0); filters.BrownianMechanism(0.0, rng=0).refine("1") => time
filters.BrownianMechanism(0.0, rng=0).refine(math.inf); filters.Doubling(0.0, rng=0).refine(1e-19) => time
filters.BrownianMechanism(1.0, 0.0); filters.Doubling(1.0, math.nan) => sensitivity
filters.LaplaceNoiseReduction(1.0, [1.0], "x") => sensitivity
filters.LaplaceNoiseReduction(0.0, []); filters.LaplaceNoiseReduction(0.0, [0.0]) => epsilon
filters.LaplaceNoiseReduction(0.0, [1.0, 1.0]); filters.LaplaceNoiseReduction(0.0, [math.nan]) => epsilon
filters.LaplaceNoiseReduction(0.0, 0.5) => epsilon
filters.geometric(0.0, 2); filters.geometric(math.inf, 2); filters.geometric(1.0, 1.0) =>
filters.BrownianMechanism(1.0, filter=3) => KindError: filter must be
filters.BrownianMechanism(1.0, boundary=3) => KindError: boundary
filters.BrownianMechanism(0.0, rng="seed") => rng
filters.BrownianMechanism(0.0, rng=1).run(5, [4.0]) => KindError: rule

G(1).renyi(0); to.subsample(G(1), 0.1).renyi("2"); G(SYMBOL).renyi(-1) => order
G(1).tabulate([]); G(1).tabulate([[0.5]]); G(1).tabulate([0.2, math.nan]); G(1).tabulate([-1e-300]) => alpha
G(1).tabulate("0.5") => alpha
G(SYMBOL).tabulate(); to.mixture({G(1.0): SYMBOL}) => SymbolError:
to.Identity().group(-5); to.Identity().group("x") => k must be
G(1).gdp(-1e-9); G(1).gdp(1.5); G(1).gdp(math.nan); G(1).gdp("small") => failure
to.PiecewiseLinear([0, 0.05, 0.1, 0.25, 0.5, 1], [1, 0.93, 0.87, 0.72, 0.43, 0]) =>
    CurveError: not convex at vertex 3: …; PiecewiseLinear.hull(alpha, beta) is
to.mixture([(G(1.0), 1.0)]); to.Plan([M.Laplace(scale=1)]) => KindError: mapping
to.mixture({G(1): 0.5, 0.5: 0.5}); to.mixture({M.Laplace(scale=1.0): 1.0}) => KindError:
to.maximum(G(1), None); to.minimum(G(1), M.Laplace(scale=1.0)); to.distance(L.clt(G(1)), G(1)) => KindError:
to.order(G(1), M.Gaussian(noise_multiplier=1)) => KindError: is a mechanism
to.Laplace(SYMBOL) >= to.PureDP(SYMBOL).group(2) => SymbolError: free symbols
to.Laplace(1) >= to.PureDP(SYMBOL).group(2) => SymbolError: free symbols
G(SYMBOL) >= G(1); G(1) >= G(SYMBOL); G(1) >= to.approximate_dp(1, SYMBOL) => SymbolError: mu
G(1) @ M.Laplace(scale=1.0) => KindError: is a mechanism,…write Laplace(...).guarantee()
G(1) >= to.Laplace(1.0).gdp() => KindError: is a Reduction,…write Reduction(...).curve$
to.subsample(to.Plan({M.Laplace(scale=1.0): 2}), 0.1) => KindError: is a Plan,…write Plan(...).guarantee()
G(1) @ L.berry_esseen(to.Laplace(0.1) ** 400) =>
    KindError: is a BerryEsseen,…write BerryEsseen(...).guarantee()
G(1) >= L.clt(to.Laplace(0.1) ** 400) => KindError: estimate
to.subsample(0.5, 0.1) => KindError: 0.5 is not a trade-off function
to.certify(to.subsample(G(1), 0.01, scheme="without-replacement") ** 1000, "epsilon", 1e-5) =>
    NoClosedForm: certify curve.lower or curve.upper instead
STEPS.delta(1.0, method="closed-form") => NoClosedForm:

M.Laplace(scale=10) @ M.Laplace(scale=10); M.Laplace(scale=10) @ G(1) => KindError: .guarantee()
M.Laplace(scale=10) ** 2; ~M.Laplace(scale=10); M.Laplace(scale=10) >= G(1) => KindError: .guarantee()
M.Laplace(scale=10)(0.5); G(1).distance(M.Laplace(scale=10)) => KindError: .guarantee()
M.SubsampledGaussian(0.5, 0.5).guarantee(-1); M.SubsampledGaussian(0.5, 0.5).guarantee("2") =>
to.Plan({NOISE(1.0): -1}) => the count of Gaussian… must be an integer from 0 to 1000000000000, got -1$
to.Plan({NOISE(1.0): 14062.5}) => the count of Gaussian… must be an integer from 0 to …, got 14062.5$
to.Plan({NOISE(1.0): 10**13}) => the count of Gaussian… must be an integer from 0 to …, got 10000000000000$
to.Plan({NOISE(1.0): True}) => the count of Gaussian… must be an integer from 0 to …, got True$

L.clt(M.Laplace(scale=10)); L.kl(M.Laplace(scale=10)) => KindError: .guarantee()
L.edgeworth(ESTIMATE) => KindError: use the exact curve
L.berry_esseen("curve") => KindError: not a trade-off
L.clt(to.PureDP(1e-150) ** 10); L.edgeworth(to.PureDP(1e-150) ** 10) => PrecisionError: too small
L.berry_esseen(to.PureDP(1e-150) ** 10) => PrecisionError: too small
L.edgeworth(to.PureDP(700.0) ** 2) => PrecisionError: too small for floats
L.edgeworth(to.subsample(G(38.0), 1e-3)) => PrecisionError: cannot be bounded
L.clt(to.PureDP(1e4)); L.edgeworth(to.PureDP(1e4)) => PrecisionError: for floats
L.kl(to.LocationShift(st.gumbel_r(), 400.0) @ to.Laplace(700.0)) => PrecisionError: cannot be bounded
G(1) @ ESTIMATE; ESTIMATE @ G(1); ESTIMATE**2 => KindError: use the exact curve … or take .trusted()
~ESTIMATE; ESTIMATE >= G(1); ESTIMATE <= G(1) => KindError: use the exact curve … or take .trusted()
G(1).dominates(ESTIMATE, failure=0.1); ESTIMATE.bounds => KindError: use the exact curve … or take .trusted()
G(1).distance(ESTIMATE); ESTIMATE.group(2) => KindError: use the exact curve … or take .trusted()
ESTIMATE.dominates(G(1), failure=0.1); ESTIMATE.gdp() => KindError: use the exact curve … or take .trusted()
ESTIMATE.symmetrise(assume="either-order") => KindError: use the exact curve … or take .trusted()
ESTIMATE.curve() => KindError: use the exact curve … or take .trusted()
L.epsilon_delta_clt(SYMBOL, 2, n=10); L.epsilon_delta_clt(SYMBOL, 0, n=2.5); L.dp_sgd_clt(SYMBOL, 1.0, -5) =>
L.epsilon_delta_clt(-1, 0, n=SYMBOL); L.epsilon_delta_clt([0.1, 0.2], 0, n=SYMBOL) =>

to.calibrate(NOISE, {"tpr": 0.01, "fpr": 0.01}) => tpr must be in (0.01, 1], got 0.01
to.calibrate(NOISE, {"success": 0.9, "baseline": 0}) => baseline must be in (0, 1), got 0
to.calibrate(NOISE, {"precision": 0.1, "recall": 0.5, "prior": 0.5}) =>
    precision must be in [0.5, 1), got 0.1
to.calibrate(NOISE, {"posterior": 0.9, "outcome": 1, "prior": 0.5}) => outcome must be in (0, 1), got 1
G(0).sensitivities(delta=0.1) => ^mu must allow …, got 0
to.PureDP(0).sensitivities(epsilon=0.1) => ^epsilon must allow …, got 0
to.Laplace(0).sensitivities(delta=0.1) => ^epsilon must allow …, got 0
to.TotalVariation(0).sensitivities(epsilon=0.1) => ^delta must allow …, got 0
to.audits.Empirical(np.array([np.nan]), np.zeros(3), 0.95) => must be a number, got nan
G(1).bayes_risk(-0.1); G(1).bayes_risk(math.nan); G(1).bayes_risk("1") => prior
G(1)(10**400) => range of floats
G(1)("0.5") => alpha must be an array of real numbers, got '0.5'; convert the text to a number first
G(1)(np.ma.masked_array([0.5], [True])) => masked
B.basic_composition(0.1, n=2**63) => n must be an integer from 0 to 9007199254740992
to.subsample(G(1), 0.1, scheme=[]) => scheme must be one of 'poisson'
to.PiecewiseLinear(0.5, 0.5) => must be a list of vertices
G(1).law.cdf([0.0, np.nan]) => loss[1] must be in [-inf, inf], got nan
B.zcdp_route(SYMBOL, 1e-5); B.classical_gaussian(SYMBOL, 1e-5) => number
B.renyi_route(G(SYMBOL), 1e-5) => SymbolError: number
L.kappa3(G(SYMBOL)); L.kappa3bar(G(SYMBOL)) => NoClosedForm: no formula of the kappa3….subs

to.plot(G(1), scale="foo", interactive=True) => scale must be one of 'linear', 'loglog', got 'foo'
to.plot(G(1), kind="foo", interactive=True) => kind must be one of 'tradeoff', …, got 'foo'
to.plot(G(1), color="nosuch", ax=AX) =>
    ^matplotlib cannot draw it: 'nosuch' is not a valid color value.; give axes of
to.plot(G(1), linewidth="x", ax=AX) => ^matplotlib cannot draw it: could not convert …; give axes
to.plot(G(1), ax="x") => ^matplotlib cannot draw it: 'str' object has no …; give axes
to.plot(G(1), interactive=True, ax=AX) => ax must be None if interactive
to.plot(G(1), inset=(0.5, 0.2), ax=AX); to.plot(G(1), inset=3, ax=AX) => inset must be two type I errors

to.empirical([0.0, 1.0], [1.0, 2.0]).estimate @ G(1) => KindError: estimate
to.empirical([0.0, 1.0], [1.0, 2.0]).refutes(to.empirical([0.0], [1.0]).estimate) => KindError: estimate
to.audits.from_losses([0.0], [0.0]).estimate @ G(1) => KindError: estimate
to.empirical([0.0], [1.0]).refutes(0.5) => KindError: not a trade-off function
to.empirical([0.0], [1.0]).refutes(G(SYMBOL)) => SymbolError:
to.audits.LossSample(np.array([np.inf]), np.zeros(3), 0.95) => probability 0
to.audits.one_run(100, 100, 100).refutes(ESTIMATE) => KindError: estimate
to.audits.one_run(1, 2, 3, assumptions="independent") => assumptions must be 'product' or None
to.audits.one_run(1, 2, 10**8, assumptions="product") => canaries must be at most 10000000
to.audits.one_run(1, 2, 3, delta=1e-5, sequential=True) =>
    delta must be 0 for sequential guesses without assumptions
to.audits.one_run(1, 2, 3, sequential=1) => sequential must be True or False, got 1

to.compare(G(1), {"wrong": 3}) => KindError: not a trade-off function
TABLE.to_latex(pivot="upper") => pivot must be one of 'x', 'y', got 'upper'

filters.GDPFilter(1).spend(to.TotalVariation(0.1)) => KindError: no finite mu …; spend it in a ResidueFilter
filters.GDPFilter(1).spend(M.DiscreteGaussian(sigma=3)) => KindError: no finite mu …; spend it in a
filters.PureDPFilter(1).spend(G(0.1)) => KindError: no finite epsilon for delta = 0 …; spend it in
filters.ApproximateDPFilter(1, 1e-5).spend(G(0.1)) => KindError: choose a delta for it, within step_delta
filters.RenyiFilter(2, 1).spend(to.TotalVariation(0.1)) => KindError: spend a curve that bounds it
filters.ResidueFilter(1).spend(M.DiscreteGaussian(sigma=3)) => KindError: give the filter a delta and a
filters.IndividualGDPFilter(1, 3).spend(to.TotalVariation(0.1)) => KindError: each record
filters.MixtureOdometer(1e-5, r=1).spend(to.TotalVariation(0.1)) => KindError: no finite rho
filters.MixtureOdometer(1e-5, r=1).bound([1.0, -1.0]) => clock must be in [0, inf), got [1.0, -1.0]
filters.GaussianSimulator(math.inf, np.random.default_rng(1)) => draw must be finite
filters.GDPFilter.from_state(filters.PureDPFilter(1).state()) => GDPFilter
type("Mine", (filters.GDPFilter,), {})(1).state() => KindError: name of its own
filters.FDPFilter(to.PureDP(1)); filters.FDPFilter(1) => KindError: 0.01495 together…GDPFilter
filters.FDPFilter(G(sympy.Symbol("m"))) => KindError: GDPFilter(m)
filters.exact_release(1, M.Gaussian(noise_multiplier=1)) => KindError: DiscreteGaussian or a DiscreteLaplace
filters.exact_release(1.5, M.DiscreteGaussian(sigma=1)) => value must be
filters.exact_release(True, M.DiscreteGaussian(sigma=1)) => value must be
filters.exact_release(1, M.DiscreteGaussian(sigma=1), 7) => numpy.random.Generator

to.Plan({STEP: 1}) @ to.Plan({M.Laplace(scale=3): 1}, "replace-one") => PlanError: must have one adjacency
to.Plan({STEP: 1}) @ to.Laplace(1) => KindError: must be a Plan
to.Plan({M.Custom(G(1), adjacency="replace-one"): 1}) => PlanError: stated for replace-one neighbours
RandomizedResponse(); RandomizedResponse(epsilon=1, flip=0.1) => either epsilon or flip
RandomizedResponse(flip=0); RandomizedResponse(flip=0.6) => flip must be
RandomizedResponse(flip=1e-310) => epsilon must be
BallsInBins(1, bins=0, epochs=2) => bins
BallsInBins(1, bins=2, epochs=0) => epochs
BallsInBins(0, bins=2, epochs=2) => noise_multiplier

to.Profile.from_epsilon_delta(None, [0.0]); to.Profile.from_epsilon_delta(lambda _: math.nan, [0.0]) =>
to.Profile.from_epsilon_delta(lambda _: None, [0.0]); to.Profile.from_epsilon_delta(lambda _: 0.1, ["x"]) =>
to.Profile.from_epsilon_delta(lambda _: 10**400, [0.0]) =>

to.allocate([(NOISE, 10**12), NOISE], {"epsilon": 1, "delta": 0}) =>
    must be an integer from 1 to 1000000000000, got 1000000000001
to.allocate([lambda s: s / 0], TARGET) => build(1.0) raised ZeroDivisionError: … by zero
to.allocate([NOISE], TARGET, lambda scales: scales[0] / 0) => cost(…) raised ZeroDivisionError: … by zero
to.allocate([lambda s: G(SYMBOL / s)], {"mu": 1}) => SymbolError: free symbols
to.allocate([NOISE, (NOISE, 4)], TARGET, lambda s: s[1]) => parts[0] must be more private, and cost more
to.calibrate(lambda s: s, {"mu": 1}) => KindError: is not a trade-off function
to.calibrate(lambda s: L.clt(to.Laplace(1 / s) ** 9), {"epsilon": 1, "delta": 0.1}) => KindError: estimate
to.sweeps.stream(3, {"x": [1]}) => must be callable
B.classical_gaussian(1.0, 1e-5) => exact_gaussian

STEPS.epsilon(1e-5, memory=10) => memory must be …MiB
STEPS.epsilon([[0.1], [0.1, 0.2]]) => got [[0.1], [0.1, 0.2]]; give rows of one length

Skellam(1e12).curve().delta(0); BinomialNoise(2**40).curve().delta(0) => SizeError: above the cap
M.strategy_sensitivity([1], separation=0) => separation
M.strategy_sensitivity([1], participations=0) => participations
M.strategy_sensitivity([1], steps=5000) => steps
M.strategy_sensitivity([[1, 0], [0, 1]], steps=3) => steps must be the number of rows, 2
M.blt_strategy([2], [1], 3) => decay

to.save(3, "it.json"); to.save((G(1), "G"), "it.json") => thing must be a curve, … a list of them, got
TABLE.to_latex(digits="a"); to.compare(G(1)).to_latex(digits=0) => digits must be an integer from 1 to 17
TABLE["z"] => column must be one of 'x', 'y', 'value', got 'z'

OPENDP.from_measurement(3, 1) => KindError: output_measure
OPENDP.privacy_map(3, delta=0.0) => KindError: must be a curve
OPENDP.privacy_map(lambda d: 1 / (d - 1), delta=0.0)(1) => ZeroDivisionError
OPENDP.privacy_map(to.Laplace(0.5), delta=0.0)(0.5) => d_in
OPENDP.privacy_map(to.Laplace(0.5), delta=2.0) => delta
OPENDP.privacy_map(lambda _: NOISE(1.0), delta=0.1)(1) => KindError: not a curve

PLAN_FILE({}) => PlanError: must
PLAN_FILE({MINE: 1}); PLAN_FILE({M.BestOfRuns(MINE, mean=2, shape=1): 1}) => PlanError: must
PLAN_FILE({M.Custom(G(1).symbolic()): 1}) => cannot be saved
to.spec.dumps(to.Plan({NOISE(1.0): 1})) => PlanError: content must be PlanFile
"""


def cases():
    """Return expressions, the names of their errors, and patterns of their messages."""
    result = []
    for row in filter(None, ROWS.replace(" =>\n    ", " => ").replace("MOST", str(2**53)).splitlines()):
        expressions, message = row.split(" =>")
        kind, part = re.fullmatch(r" ?(?:(\w+Error|NoClosedForm|BudgetExceeded): ?)?(.*)", message).groups()
        start, end = "^" * part.startswith("^"), "$" * part.endswith("$")
        pattern = start + re.escape(part.removeprefix("^").removesuffix("$")).replace("…", ".*") + end
        result += [(each, kind or "DomainError", pattern) for each in expressions.split("; ")]
    return result


def stumble(_):
    raise ValueError("one\ntwo")


M = to.mechanisms
STEP = M.SubsampledGaussian(noise_multiplier=1, sample_rate=0.01)
NAMES = {"F": Fraction, "math": math, "np": np, "st": scipy.stats, "sympy": sympy, "to": to, "G": to.Gaussian}
NAMES |= {"B": to.baselines, "C": to.conversions, "D": discrete, "L": to.limits, "M": M, "STEP": STEP}
NAMES |= {
    **vars(M),
    "filters": to.filters,
    "plot": plot,
    "AX": Figure().subplots(),
    "STEPS": STEP.curve() ** 10,
}
NAMES |= {
    "ADD": lambda x, y: x + y,
    "ONE": lambda **_: 1.0,
    "BINNED": lambda strategy, bins, epochs: M.MatrixMechanism(
        1.0, strategy=strategy, scheme="balls-in-bins", bins=bins, epochs=epochs
    ),
    "BATCH": M.TruncatedSubsampledGaussian(1.0, 1.0, batch_size=1, dataset_size=10),
    "ESTIMATE": to.limits.clt(to.Laplace(0.1) ** 400),
    "NOISE": lambda sigma: M.Gaussian(noise_multiplier=sigma),
    "RAISING": stumble,
    "MINE": type("Mine", (M.Gaussian,), {})(1.0),
    "OPENDP": to.interop.opendp,
    "PLAN_FILE": lambda runs: to.spec.dumps(to.spec.PlanFile("", to.Plan(runs))),
    "SYMBOL": sympy.Symbol("mu", positive=True),
    "REPLACED": M.SubsampledGaussian(1.0, 0.01, scheme="without-replacement", adjacency="replace-one"),
    "TABLE": to.sweep(lambda x, y: x * y, {"x": [1.0, 2.0], "y": [1.0, 2.0]}),
    "TARGET": {"epsilon": 1.0, "delta": 1e-6},
}


@pytest.mark.parametrize(("expression", "error", "message"), cases())
def test_argument_is_refused_in_one_sentence(expression, error, message):
    with pytest.raises({**vars(builtins), **vars(errors)}[error]) as refused:
        eval(expression, dict(NAMES))
    assert re.search(message, str(refused.value)), refused.value
    assert "\n" not in str(refused.value)
