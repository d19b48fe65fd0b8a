"""Tempering: a likelihood that counts as that of fewer rows."""

from dpmcmc.models.model import Model


class Tempered(Model):
    """Tempering of a model with `num_rows` and `tempered_rows`, n0; None stands for n0 = n."""

    tempered_rows: int | None

    @property
    def likelihood_power(self) -> float:
        """Tempering T = n0 / n."""
        return 1.0 if self.tempered_rows is None else self.tempered_rows / self.num_rows

    def check_tempering(self) -> None:
        """Refuse more tempered rows than there are."""
        if self.tempered_rows is not None and self.tempered_rows > self.num_rows:
            raise ValueError(
                f"tempered_rows: must be at most num_rows = {self.num_rows}, "
                f"not {self.tempered_rows}"
            )
