"""Settings that are carried from one model to another, with other numbers of rows."""

from numbers import Integral

from msgspec.structs import replace

DIGITS = 3  # of a carried setting


def scaled_settings(entry, models):
    """An algorithm's entry with settings for models that have `same_settings_as`.

    A setting that `powers_of_n` names is multiplied by that power of n / n_0, where n_0 rows are
    those of the other model. What the entry says for the model itself stays.

    Parameters
    ----------
    entry : Algorithm
    models : dict of str to ModelEntry
    """
    settings, powers = entry.settings, entry.powers_of_n
    more = {}
    for name, model in models.items():
        if model.same_settings_as in settings:
            ratio = model.model.num_rows / models[model.same_settings_as].model.num_rows
            scaled = {
                key: times(value, ratio ** powers[key]) if key in powers else value
                for key, value in settings[model.same_settings_as].items()
            }
            more[name] = scaled | settings.get(name, {})
    return replace(entry, settings=settings | more)


def times(value, factor):
    """A number, or each of a list, times a factor, to three digits; whole numbers stay whole."""
    if isinstance(value, list):
        return [times(one, factor) for one in value]
    product = float(f"{value * factor:.{DIGITS}g}")
    return max(1, round(product)) if isinstance(value, Integral) else product
