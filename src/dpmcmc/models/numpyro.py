"""Prior and likelihood of one row of a model that is written in NumPyro.

Theta has the latent variables in the order of the model, each as numbers without constraint: by
NumPyro's bijection to its support, whose Jacobian is in the prior.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from dpmcmc.extras import missing
from dpmcmc.likelihoods.jax import jax, jnp

try:
    from numpyro import handlers
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(missing(error.name, "numpyro")) from None
from numpyro.distributions import biject_to, constraints

PROBE_ROWS = 3  # of which a plate over rows must have as many


class Traced:
    """A model of NumPyro with one plate over the rows.

    Parameters
    ----------
    model : function
        Of NumPyro; it takes rows (n, p) alone.
    row_length : int
        p.

    Attributes
    ----------
    shapes : dict of str to tuple
        Of the latent variables without constraint.
    names : list of str
        Of the components of theta.
    observed : dict of int to str
        Entries of a row that the model observes as they are, and the names of the variables.

    Raises
    ------
    ValueError
        In one line, for a model that is no sum over rows of one plate, given its parameters.
    """

    def __init__(self, model: Callable[[Any], Any], row_length: int) -> None:
        self.model = model
        rows = np.random.default_rng(0).random((PROBE_ROWS, row_length))
        seeded = handlers.seed(model, jax.random.PRNGKey(0))
        sites = handlers.trace(seeded).get_trace(jnp.asarray(rows))
        _check(sites, getattr(model, "__name__", "model"))
        latent = [site for site in sites.values() if _is_latent(site)]
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.names: list[str] = []
        for site in latent:
            shape = jnp.shape(biject_to(site["fn"].support).inv(site["value"]))
            self.shapes[site["name"]] = shape
            is_real = constraints.real in (site["fn"].support, _base(site["fn"].support))
            name = site["name"] if is_real else f"unconstrained_{site['name']}"
            self.names += ["_".join([name, *map(str, index)]) for index in np.ndindex(*shape)]
        self.observed = {
            j: site["name"]
            for j in range(row_length)
            for site in sites.values()
            if _is_observed(site)
            and np.shape(site["value"]) == rows[:, j].shape
            and (np.asarray(site["value"]) == rows[:, j]).all()
        }
        self.row_length = row_length

    def _pieces(self, theta: Any) -> dict[str, Any]:
        pieces, start = {}, 0
        for name, shape in self.shapes.items():
            size = int(np.prod(shape, dtype=int))
            pieces[name] = jnp.reshape(theta[start : start + size], shape)
            start += size
        return pieces

    def _run(self, theta: Any, rows: Any) -> tuple[dict[str, Any], Any]:
        """Sites of a run at theta, and ln of the Jacobian's determinant."""
        pieces, jacobians = self._pieces(theta), []

        def value_of(site: dict[str, Any]) -> Any:
            if site["name"] not in pieces:
                return None
            transform = biject_to(site["fn"].support)
            piece = pieces[site["name"]]
            value = transform(piece)
            jacobians.append(jnp.sum(transform.log_abs_det_jacobian(piece, value)))
            return value

        substituted = handlers.substitute(self.model, substitute_fn=value_of)
        return handlers.trace(substituted).get_trace(rows), sum(jacobians)

    def log_likelihood_row(self, theta: Any, row: Any) -> Any:
        """ln p(x|theta) of a row (p,): the model of this row alone."""
        sites, _ = self._run(theta, row[None])
        terms = [
            jnp.sum(site["fn"].log_prob(site["value"]))
            for site in sites.values()
            if _is_observed(site)
        ]
        return jnp.asarray(sum(terms), jnp.float64)

    def _log_prior(self, theta: Any) -> Any:
        # Rows of no data: whatever the model does with rows, the prior does not depend on them.
        sites, jacobian = self._run(theta, jnp.zeros((1, self.row_length)))
        terms = [jnp.sum(s["fn"].log_prob(s["value"])) for s in sites.values() if _is_latent(s)]
        return sum(terms) + jacobian

    @cached_property
    def log_prior(self) -> Callable[[Any], Any]:
        """ln p(theta), compiled."""
        return jax.jit(self._log_prior)

    @cached_property
    def grad_log_prior(self) -> Callable[[Any], Any]:
        """Its gradient (d,), compiled."""
        return jax.jit(jax.grad(self._log_prior))

    def _draw(self, key: Any) -> Any:
        sites = handlers.trace(handlers.seed(self.model, key)).get_trace(
            jnp.zeros((1, self.row_length))
        )
        free = [biject_to(s["fn"].support).inv(s["value"]) for s in sites.values() if _is_latent(s)]
        return jnp.concatenate([jnp.ravel(value) for value in free])

    @cached_property
    def draw(self) -> Callable[[Any], Any]:
        """A draw of the prior (d,) by a key of JAX, compiled."""
        return jax.jit(self._draw)

    def sample_prior(self, rng: np.random.Generator) -> np.ndarray:
        """A draw of the prior, (d,)."""
        key = jax.random.PRNGKey(int(rng.integers(2**32)))
        return np.asarray(self.draw(key), dtype=float)

    def simulate(self, rng: np.random.Generator, theta: np.ndarray, num_rows: int) -> np.ndarray:
        """Rows (n, p): outcomes by the model, and other entries standard normal."""
        rows = rng.standard_normal((num_rows, self.row_length))
        pieces = self.parameters(theta)
        key = jax.random.PRNGKey(int(rng.integers(2**32)))
        free = handlers.substitute(handlers.uncondition(self.model), data=pieces)
        sites = handlers.trace(handlers.seed(free, key)).get_trace(jnp.asarray(rows))
        for j, name in self.observed.items():
            rows[:, j] = np.asarray(sites[name]["value"], dtype=float)
        return rows

    def parameters(self, theta: Any) -> dict[str, np.ndarray]:
        """Latent variables of the model at theta (d,), by name."""
        sites, _ = self._run(jnp.asarray(theta), jnp.zeros((1, self.row_length)))
        return {name: np.asarray(sites[name]["value"]) for name in self.shapes}


def _is_latent(site: dict[str, Any]) -> bool:
    return site["type"] == "sample" and not site["is_observed"]


def _is_observed(site: dict[str, Any]) -> bool:
    return site["type"] == "sample" and site["is_observed"]


def _base(support: Any) -> Any:
    return getattr(support, "base_constraint", support)


def _check(sites: dict[str, Any], name: str) -> None:
    """Raise a ValueError for a model that cannot be taken."""
    plates = [site for site in sites.values() if site["type"] == "plate"]
    if len(plates) != 1:
        raise ValueError(f"{name}: must have one plate, over the rows, not {len(plates)}")
    if plates[0]["args"][0] != PROBE_ROWS or np.size(plates[0]["value"]) != PROBE_ROWS:
        raise ValueError(f"{name}: the plate {plates[0]['name']} must be over all rows")
    for site in sites.values():
        where = f"{name}: {site['name']}"
        if site["type"] in ("param", "mutable"):
            raise ValueError(f"{where} must have a prior: it is no sample")
        if site["type"] == "sample" and site.get("scale") is not None:
            raise ValueError(f"{where} must have no scale")
        is_in = bool(site.get("cond_indep_stack"))
        if _is_latent(site) and is_in:
            raise ValueError(f"{where} is a latent variable inside the plate: each row has its own")
        if _is_latent(site) and site["fn"].support.is_discrete:
            raise ValueError(f"{where} is discrete: a latent variable must be continuous")
        if _is_observed(site) and not is_in:
            raise ValueError(f"{where} is observed outside the plate: it belongs to no row")
    for kind, is_kind in (("latent variable", _is_latent), ("observed variable", _is_observed)):
        if not any(map(is_kind, sites.values())):
            raise ValueError(f"{name}: must have a {kind}")
