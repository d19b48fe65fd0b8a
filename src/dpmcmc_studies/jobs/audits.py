"""Lower bounds of the epsilon and mu that the samplers' own code costs, and a test of its noise."""

import pandas as pd

from dpmcmc.accounting.search import rounded_up
from dpmcmc.evaluation.audit import audit, cases
from dpmcmc.files import JobError
from dpmcmc.precomputed import with_precomputed
from dpmcmc.random_streams import seed_sequence
from dpmcmc_studies.frames import write_csv
from dpmcmc_studies.study import study_specs


def audit_case(spec: study_specs.AuditCase, output):
    """Bound the epsilon and mu of a sampler's own code from below by many runs, as CSV."""
    known = cases()
    if spec.case not in known:
        raise JobError(f"audit.cases: unknown case {spec.case}; valid cases: {', '.join(known)}")
    case = known[spec.case]
    case = case._replace(sampler=with_precomputed(case.sampler))
    seed = seed_sequence(spec.study_seed, "audit", spec.case).entropy
    settings = {"runs": spec.runs, "delta": spec.delta, "confidence": spec.confidence}
    values, positions, noise = audit(case, seed, **settings)
    row = {
        "case": spec.case,
        "sampler": type(case.sampler).__name__,
        "iterations": case.iterations,
        **settings,
        "epsilon_at_most": rounded_up(case.epsilon(spec.delta)),
        "epsilon_by_values": values.epsilon,
        "epsilon_by_positions": positions.epsilon,
        "mu_at_most": case.mu(),
        "mu_by_values": values.mu,
        "mu_by_positions": positions.mu,
        "noise_variance": noise.variance,
        "noise_p_value": noise.p_value,
    }
    write_csv(pd.DataFrame([row]), output)
