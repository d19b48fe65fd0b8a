"""Sizes and margins that passes over blocks of near rows share."""

BOX = 256  # rows that lie near each other; of 30 statistics they stay in the second level
ROUNDING = 1e-10  # far above what rounding changes, relative to the terms it comes from
