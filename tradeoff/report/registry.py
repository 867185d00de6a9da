"""An entry of a plan for the registry of deployments of differential privacy, as far as the plan has it."""

from __future__ import annotations

from typing import Any

from tradeoff._version import __version__
from tradeoff.display import exactly
from tradeoff.mechanisms import Plan
from tradeoff.report.answers import Answers, finite, mechanism_rows
from tradeoff.report.html import assumptions

_DISTANCES = {"add-remove": "Symmetric distance", "replace-one": "Change-one distance"}
_BY_USER = {  # keys of facts that no plan has
    "product": (
        "name data_curators intended_use data_product_type data_product_region description publication_date "
        "data_product_sector"
    ),
    "model": (
        "model_name model_name_description actors release_type release_type_description data_source_type "
        "data_source_type_description access_type access_type_description"
    ),
    "implementation": "pre_processing_eda_hyperparameter_tuning justification",
    "resources": "sources registry_authors",
}


def registry_entry(title: str, plan: Plan, answers: Answers) -> dict[str, Any]:
    """Return plain data with the keys of the registry; null where the plan has no answer.

    The keys are those of Nanayakkara, Ghazi, Vadhan 2025 (arXiv:2509.13509), as the registry's files have
    them. Epsilon is the upper bound at the first delta of the answers.

    Examples
    --------
    >>> import tradeoff as to
    >>> plan = to.Plan({to.mechanisms.Gaussian(noise_multiplier=2): 4})
    >>> from tradeoff.report.answers import answer_query
    >>> answers = answer_query(plan.guarantee(), delta=[1e-5])
    >>> registry_entry("counts", plan, answers)["deployment"]["dp_flavor"]["input_metric"]
    'Symmetric distance'
    """
    entry: dict[str, dict[str, Any]] = {name: dict.fromkeys(keys.split()) for name, keys in _BY_USER.items()}
    first = answers.epsilon[0]
    epsilon, delta = finite(first.upper), first.argument
    entry["product"]["name"] = title or None
    entry["dp_flavor"] = {
        "name": "Approximate DP" if delta else "Pure DP",
        "input_metric": _DISTANCES[plan.adjacency],
        "bound_on_input_distance": "1",
        "output_measure": "Approximate divergence" if delta else "Max divergence",
        "bound_on_output_distance": f"({epsilon}, {exactly(delta)})",
        "data_domain": None,
        "unprotected_quantities": None,
    }
    bounds = [
        f"{name} at {parameter} = {exactly(each.argument)}: at least {each.lower!r}, at most {each.upper!r}"
        for name, parameter, each in answers
    ]
    entry["privacy_loss"] = {
        "privacy_unit": None,
        "privacy_unit_description": assumptions(plan)[0],
        "privacy_parameters": {"epsilon": epsilon, "delta": delta},
        "privacy_parameters_description": "\n".join(bounds),
    }
    entry["accounting"] = {
        "post_processing": None,
        "composition": f"Composed as trade-off functions, with certified bounds, by tradeoff {__version__}.",
    }
    rows = (f"{n} × {kind}: {parameters}" for n, kind, parameters in mechanism_rows(plan))
    entry["implementation"]["mechanisms"] = "\n".join([*rows, *assumptions(plan)[1:], *answers.assumptions])
    return {"status": "Draft", "tier": None, "deployment": entry}
