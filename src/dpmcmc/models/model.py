"""Base of all models, whatever the kind of likelihood."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmcmc.likelihoods.bounded_scores import Scores
from dpmcmc.settings import Settings


class Model(Settings, ABC):
    """A prior, and a likelihood of one row.

    A model is a frozen dataclass whose fields are its settings; it derives from the class of its
    kind of likelihood: `ExponentialFamily`, `RowsModel` or `JaxModel`. Theta is an array of shape
    (d,). Members every model defines:

    dimension, num_rows : int
        d and n.
    grad_log_prior(theta)
        Gradient (d,) of ln p(theta).

    Members of the class of its kind:

    data_shape : tuple of int
        Shape of a data set.
    dataset(rng, theta=None), from_rows(rows)
        A data set, simulated or made of the rows of a file, in the order that the likelihood reads
        fastest.
    in_units(centre, factor)
        The model of z, where theta = centre + factor z; centre (d,) and factor (d, d).

    A model that has `is_outcome` also defines:

    outcome_values : str
        The outcomes that it takes, in words: "0 or 1".

    Of the methods below, a class must define the first two; the others have defaults.
    """

    is_generative = True  # False where the likelihood is no density, so that no theta makes data
    # Names of the columns of a file that a row is made of, in their order.
    columns: tuple[str, ...] = ()
    # Laws of rows that leave the model, for `simulate_as`: names, and what they are, in words. They
    # count where rows are simulated by the class that has `simulate_as`, as `laws_of` says.
    other_laws: Mapping[str, str] = {}

    if TYPE_CHECKING:  # which a class may define as a setting, a constant or a property

        @property
        def dimension(self) -> int:
            """Components of theta, d."""

        @property
        def num_rows(self) -> int:
            """Rows of a data set, n."""

        @property
        def data_shape(self) -> tuple[int, ...]:
            """Shape of a data set."""

        @property
        def likelihood_power(self) -> float:
            """Tempering T."""

        @property
        def true_theta(self) -> np.ndarray | None:
            """Theta of simulated data, (d,), if there is one."""

        @property
        def posterior_mean(self) -> np.ndarray | None:
            """Mean of the posterior, (d,), if it is known exactly."""

        @property
        def parameter_names(self) -> Sequence[str]:
            """Names of the components of theta."""

        def grad_log_prior(self, theta: np.ndarray) -> np.ndarray:
            """Gradient of ln p(theta), (d,)."""

        def in_units(self, centre: np.ndarray, factor: np.ndarray) -> "Model":
            """The model of z, where theta = centre + factor z."""
    else:
        likelihood_power = 1.0  # tempering T = n0 / n
        # (d,): what simulated data are drawn at, and the centre of the start points.
        true_theta = None
        posterior_mean = None  # (d,) where it is known exactly: mean errors are then taken from it
        parameter_names = ()  # of the components of theta: d of them, or none

    @abstractmethod
    def log_prior_ratio(self, theta: np.ndarray, theta_new: np.ndarray) -> float:
        """ln p(theta_new) - ln p(theta)."""

    @abstractmethod
    def likelihood(self, data: np.ndarray) -> Any:
        """The likelihood of one data set, which `Target` asks; the class of the kind defines it."""

    def bounded_scores(
        self, theta: np.ndarray, rows: np.ndarray, bound: float, ratio: float
    ) -> Scores:
        """Scores of rows (k, p) for `NoisyNewton`; the kinds of likelihood have it, for any model.

        Theirs are gradients of which nothing is known. These are cut to the bound's length, which
        biases unless errors are symmetric. A model of your own does better by one of two ways, and
        keeps the mean zero at the true theta:

        - It knows the largest length of a row's score over all outcomes, and returns the gradients
          as they are, that length, and roots of the expected information. Such a row gets a weight
          that does not see its outcome.
        - It clips the outcome, subtracts the mean of the clipped outcome, and returns roots of the
          slope of that, its covariance with the gradient.

        Parameters
        ----------
        theta : (d,) array
        rows : (k, p) array
        bound : float
            B, of a row's score.
        ratio : float
            b. A row has weight 1 where largest^2 + b^2 |slope|^2 / 2 <= B^2.
        """
        raise NotImplementedError(f"{type(self).__name__} has no bounded_scores")

    def tail_probabilities(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Probability at theta of an outcome as far out as that of a row, or farther; (k,).

        `NoisyNewton` releases how often it is small, and so says if outcomes are far out more often
        than the model has it. By default it does not.

        Parameters
        ----------
        theta : (d,) array
        rows : (k, p) array

        Raises
        ------
        NotImplementedError
            Unless the model defines it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no tail_probabilities")

    def prepare(self, rows: np.ndarray) -> np.ndarray:
        """Rows of the model, (k, p'), from those of a file; by default as they are.

        It may leave out rows and compute with their entries, and must look at each row by itself:
        what becomes of a row may depend on no other row, nor on how many there are. Privacy rests
        on it. A mean that is subtracted, say, is itself a release of the data that no accountant
        has priced, and by it one row changes all others, each of which is clipped as if it had not.

        Parameters
        ----------
        rows : (n, p) array
            Columns of a file, as `columns` orders them; finite.
        """
        return rows

    def is_outcome(self, outcomes: np.ndarray) -> np.ndarray:
        """Mask (k,) of outcomes that it takes, first entries of rows; by default of all.

        Data with others are refused; in a release their rows count as nothing.
        """
        return np.ones(len(outcomes), dtype=bool)

    def names_of(self, columns: Sequence[str]) -> Sequence[str]:
        """Names of the components of theta that belong to columns of its data; by default none."""
        return []

    def check_columns(self, columns: Sequence[str]) -> None:
        """Raise a ValueError, "columns: ...", for columns that cannot be those of its data."""

    def in_file_units(self, draws: np.ndarray) -> np.ndarray:
        """Draws (..., d) of theta in the units of its data, as a release has them: as they are.

        Parameter names are those of the components of this.
        """
        return draws

    def units_in_words(self) -> list[str]:
        """Lines of a release's statement on the units of draws, which hold public numbers alone."""
        return []

    def simulate(self, rng: np.random.Generator, theta: np.ndarray | None = None) -> np.ndarray:
        """A data set, in any order of its rows; only for models whose data are simulated.

        Parameters
        ----------
        rng : numpy.random.Generator
        theta : (d,) array, optional
            What the data are drawn at; `true_theta` by default.

        Raises
        ------
        NotImplementedError
            Unless the model defines it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no simulate: it cannot make data")

    def simulate_as(self, law: str, rng: np.random.Generator, theta: np.ndarray) -> np.ndarray:
        """A data set at theta with one of `other_laws`, in any order of its rows.

        Data seldom follow a model. `rehearse` tries a release on these laws, too.

        Raises
        ------
        NotImplementedError
            Unless the model has other laws.
        """
        raise NotImplementedError(f"{type(self).__name__} has no simulate_as")

    def sample_prior(self, rng: np.random.Generator) -> np.ndarray:
        """A draw of the prior, (d,); only for models that have a proper one.

        Raises
        ------
        NotImplementedError
            Unless the model defines it.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no sample_prior: its prior has no draws"
        )

    def sample_posterior(self, rng: np.random.Generator, data: np.ndarray, size: int) -> np.ndarray:
        """Exact draws of the tempered posterior, (size, d); only for models that have them.

        Raises
        ------
        NotImplementedError
            Unless the model defines it.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no sample_posterior: its posterior has no exact draws"
        )

    def dataset(self, rng: np.random.Generator, theta: np.ndarray | None = None) -> np.ndarray:
        """A simulated data set in the order that its likelihood reads fastest; as `simulate`."""
        return self.simulate(rng, theta)

    def from_rows(self, rows: np.ndarray) -> np.ndarray:
        """The data set that rows (n, p) from `prepare` make: as they are."""
        return rows

    def start_point(self, rng: np.random.Generator, reference: np.ndarray) -> np.ndarray:
        """Start point of a chain (section 5.2): Normal(start centre, s^2 I).

        s is the mean of the component-wise standard deviations of the reference sample (size, d).
        """
        spread = reference.std(axis=0, ddof=1).mean()
        return self.start_centre(reference) + spread * rng.standard_normal(self.dimension)

    def start_centre(self, reference: np.ndarray) -> np.ndarray:
        """Centre of the start points, (d,): the true theta, else the mean of the reference."""
        return reference.mean(axis=0) if self.true_theta is None else self.true_theta


def laws_of(model: Model) -> Mapping[str, str]:
    """`other_laws` of a model; none where a class derived from theirs simulates its own rows."""
    definers = [
        next(i for i, cls in enumerate(type(model).__mro__) if name in vars(cls))
        for name in ("simulate", "simulate_as")
    ]
    return model.other_laws if definers[0] >= definers[1] else {}
