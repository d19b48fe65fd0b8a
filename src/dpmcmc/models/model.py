"""What every model offers, whatever the kind of its likelihood."""

from dpmcmc.settings import Settings


class Model(Settings):
    """A prior, and a likelihood of one row.

    A model is a frozen dataclass whose fields are its settings; it derives from the class of its
    kind of likelihood: `ExponentialFamily`, `RowsModel` or `JaxModel`. Theta is an array of shape
    (d,). Members every model defines:

    dimension, num_rows : int
        d and n.
    true_theta : (d,) array
        Centre of the start points; where a model has one, the theta its data are drawn at.
    log_prior_ratio(theta, theta_new), grad_log_prior(theta)
        ln p(theta_new) - ln p(theta), and the gradient (d,) of ln p(theta).

    Members of the class of its kind:

    data_shape : tuple of int
        Shape of a data set.
    likelihood(data)
        What answers `dpmcmc.likelihoods.target.Target` for one data set.
    dataset(rng)
        A simulated data set in the order that the likelihood reads fastest.
    """

    likelihood_power = 1.0  # tempering T = n0 / n
    posterior_mean = None  # (d,) where it is known exactly: mean errors are then taken from it

    def simulate(self, rng):
        """A data set, in any order of its rows; only for models whose data are simulated.

        Raises
        ------
        NotImplementedError
            Unless the model defines it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no simulate: it cannot make data")

    def sample_posterior(self, rng, data, size):
        """Exact draws of the tempered posterior, (size, d); only for models that have them.

        Raises
        ------
        NotImplementedError
            Unless the model defines it.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no sample_posterior: its posterior has no exact draws"
        )

    def dataset(self, rng):
        """A simulated data set in the order that its likelihood reads fastest."""
        return self.simulate(rng)

    def start_point(self, rng, reference):
        """Where a chain starts (section 5.2): Normal(true theta, s^2 I).

        s is the mean of the component-wise standard deviations of the reference sample (size, d).
        """
        spread = reference.std(axis=0, ddof=1).mean()
        return self.true_theta + spread * rng.standard_normal(self.dimension)
