"""What a model offers; a new one is a class with these members and a line in `KINDS`."""


def read_only(array):
    """The array itself, protected from callers that would change what is remembered."""
    array.setflags(write=False)
    return array


class Model:
    """Prior and exponential-family likelihood of one row, with its exact posterior.

    With a statistic t(x) in R^m, ln p(x|theta) = eta(theta) . t(x) - A(theta) + const(x), so
    log-likelihood ratios and gradients are affine in t(x). Theta is an array of shape (d,).

    Members every model defines:

    dimension, num_rows : int
        d and n.
    true_theta : (d,) array
        Centre of the start points; where a model has one, the theta its data are drawn at.
    simulate(rng)
        A data set as the statistics of its rows, (m, n).
    ratio_coefficients(theta, theta_new)
        Slope (m,) and intercept: ln p(x|theta_new) - ln p(x|theta) = slope . t(x) - intercept.
    gradient_coefficients(theta)
        Jacobian (m, d) and offset (d,): grad ln p(x|theta) = jacobian^T t(x) - offset.
    log_prior_ratio(theta, theta_new), grad_log_prior(theta)
        ln p(theta_new) - ln p(theta), and the gradient (d,) of ln p(theta).
    sample_posterior(rng, statistics, size)
        Exact draws of the tempered posterior, (size, d).
    """

    likelihood_power = 1.0  # tempering T = n0 / n
    posterior_mean = None  # (d,) where it is known exactly: mean errors are then taken from it

    def start_point(self, rng, reference):
        """Where a chain starts (section 5.2): Normal(true theta, s^2 I).

        s is the mean of the component-wise standard deviations of the reference sample (size, d).
        """
        spread = reference.std(axis=0, ddof=1).mean()
        return self.true_theta + spread * rng.standard_normal(self.dimension)
