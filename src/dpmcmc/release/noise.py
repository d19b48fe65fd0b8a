"""Normal noise as whole numbers: the discrete Gaussian, drawn exactly by OpenDP.

A Gaussian in floating point has gaps, by which a statistic can be told from its neighbour (Mironov
2012; Jin et al. 2022). The discrete one is drawn from random bits by comparisons of fractions
(Canonne, Kamath and Steinke 2020), and OpenDP has proofs beside the code. Its bits are OpenSSL's.
"""

import numpy as np

BLOCK = 1000  # draws at once: a call of the library takes as long as some ten
KEPT_SCALES = 8  # whose draws are kept
DIGITS = 32  # binary ones, of a scale: one that differs by rounding alone is the same
LARGEST_SCALE = 2.0**56  # of which 40 times is far from the end of 64 bits


class DiscreteGaussian:
    """Draws for one scale or another, in blocks where a scale comes again.

    So the time that a draw takes hardly hangs on what is released at that moment.
    """

    def __init__(self):
        self._blocks = {}  # {scale: draws that were not used yet}, the one used last is last

    def draw(self, scale, size):
        """Whole numbers of density proportional to exp(-k^2 / (2 scale^2)), (size,) of int64.

        Parameters
        ----------
        scale : float
            Rounded up to 32 binary digits; from 1 to 2^56.
        size : int

        Raises
        ------
        ArithmeticError
            For another scale.
        """
        scale = rounded_up(scale)
        if not 1 <= scale <= LARGEST_SCALE:
            raise ArithmeticError("the scale of the noise is out of range")
        left = self._blocks.pop(scale, None)
        if left is None:  # which may be one of many scales, that all differ
            draws, left = sample(scale, size), np.empty(0, np.int64)
        else:
            if len(left) < size:
                left = np.concatenate([left, sample(scale, max(size, BLOCK))])
            draws, left = left[:size], left[size:]
        if len(self._blocks) == KEPT_SCALES:
            del self._blocks[next(iter(self._blocks))]
        self._blocks[scale] = left
        return draws


def rounded_up(scale):
    """A number of 32 binary digits, not below the scale."""
    mantissa, exponent = np.frexp(scale)
    return float(np.ldexp(np.ceil(np.ldexp(mantissa, DIGITS)), int(exponent) - DIGITS))


def sample(scale, size):
    """Draws, by OpenDP."""
    # Of its modules only these: `opendp.prelude` takes seconds to import.
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")  # proved, and not yet vetted by the process of its own
    space = vector_domain(atom_domain(T="i64")), l2_distance(T="f64")
    return np.array(make_gaussian(*space, scale=scale)([0] * size), np.int64)


def require_noise():
    """Raise an ArithmeticError unless a few draws are as large as their scale says.

    The largest of 20 normal numbers is outside of these limits once in 10^20 times.
    """
    scale = 2.0**30
    if not scale / 8 < abs(sample(scale, 20)).max() < 16 * scale:
        raise ArithmeticError("the library opendp draws no noise, or noise of another scale")
