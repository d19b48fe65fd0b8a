"""Tempering: a likelihood that counts as that of fewer rows."""


class Tempered:
    """Tempering of a model with `num_rows` and `tempered_rows`, n0; None stands for n0 = n."""

    @property
    def likelihood_power(self):
        """Tempering T = n0 / n."""
        return 1.0 if self.tempered_rows is None else self.tempered_rows / self.num_rows

    def check_tempering(self):
        """Refuse more tempered rows than there are."""
        if self.tempered_rows is not None and self.tempered_rows > self.num_rows:
            raise ValueError(
                f"tempered_rows: must be at most num_rows = {self.num_rows}, "
                f"not {self.tempered_rows}"
            )
