"""Colours of algorithms in figures."""

from colorsys import hls_to_rgb

from dpmcmc.configuration.yaml_files import check_known

# One an algorithm, in the order of the configuration; the first seven, which meet in one figure,
# differ in lightness (L* 24 to 88), so in grey and to any eye as well.
COLOURS = ["#0067A5", "#84BFE6", "#D2551B", "#661A44", "#F2AFC3", "#2BB58B", "#F5DF4D"]
COLOURS += ["#3E7CB1", "#B0477F", "#3B8D6B", "#332288", "#E69F00"]
# Releases; stochastic gradients and their certified versions; checks; what a study adds.
COLOURS += ["#6A3D9A", "#005F73", "#B59BD6", "#1B9E77", "#8FD3B6", "#999999", "#7A6A58", "#E377C2"]
HUES_FROM = 19  # number of the first colour by a formula


def colours_of(algorithms, given):
    """Colours of algorithms: what the configuration gives, or by place.

    Parameters
    ----------
    algorithms : list of str
        Ids, in the order of the configuration.
    given : dict of str to str
        The section `colours`: #rrggbb, or the id of another algorithm, which has the same.

    Returns
    -------
    dict of str to str

    Raises
    ------
    ConfigError
        For an algorithm that is not there.
    """
    check_known(given, algorithms, "colours", "algorithm")
    for name, value in given.items():
        if not value.startswith("#"):
            check_known([value], algorithms, f"colours.{name}", "algorithm")
    by_place = {name: colour(index) for index, name in enumerate(algorithms)}
    own = by_place | {name: value for name, value in given.items() if value.startswith("#")}
    return {name: own.get(given.get(name), own[name]) for name in algorithms}


def colour(index):
    """Colour of an algorithm by its place in the configuration, as #rrggbb; none comes twice."""
    if index < len(COLOURS):
        return COLOURS[index]
    index += HUES_FROM - len(COLOURS)
    hue, lightness = index * (5**0.5 - 1) / 2 % 1, 0.35 + 0.1 * (index % 4)
    red, green, blue = hls_to_rgb(hue, lightness, 0.6)
    return "#" + "".join(f"{round(255 * part):02x}" for part in (red, green, blue))
