"""Settings that are carried from one model to another, with other numbers of rows."""

from numbers import Integral

from msgspec.structs import replace

DIGITS = 3  # of a carried setting


def scaled_settings(entry, models):
    """An algorithm's entry with settings for models that have `same_settings_as`.

    A setting that `powers_of_n` names is multiplied by that power of n / n_0, where n_0 rows are
    those of the other model. What the entry says for the model itself stays. So are settings of an
    epsilon (`settings_at`).

    Parameters
    ----------
    entry : Algorithm
    models : dict of str to ModelEntry
    """
    more, more_at = {}, {}
    for name, model in models.items():
        source = model.same_settings_as
        if source not in entry.settings:
            continue
        ratio = model.model.num_rows / models[source].model.num_rows
        more[name] = scaled(entry.settings[source], entry.powers_of_n, ratio)
        more[name] |= entry.settings.get(name, {})
        at = {
            epsilon: scaled(of_epsilon, entry.powers_of_n, ratio)
            for epsilon, of_epsilon in entry.settings_at.get(source, {}).items()
        }
        for epsilon, own in entry.settings_at.get(name, {}).items():
            at[epsilon] = at.get(epsilon, {}) | own
        if at:
            more_at[name] = at
    return replace(entry, settings=entry.settings | more, settings_at=entry.settings_at | more_at)


def scaled(settings, powers, ratio):
    """Settings, those with a power times that power of a ratio."""
    return {
        key: times(value, ratio ** powers[key]) if key in powers else value
        for key, value in settings.items()
    }


def times(value, factor):
    """A number, or each of a list, times a factor, to three digits; whole numbers stay whole."""
    if isinstance(value, list):
        return [times(one, factor) for one in value]
    product = float(f"{value * factor:.{DIGITS}g}")
    return max(1, round(product)) if isinstance(value, Integral) else product
