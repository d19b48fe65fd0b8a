"""Configuration files: reading, merging, and errors that name the key and what would be valid."""

import math
import reprlib
from pathlib import Path

import jsonschema
import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.cyaml import CParser
from yaml.resolver import Resolver


class ConfigError(ValueError):
    """A configuration that cannot run; the message is one line that names the key."""

    def __init__(self, message):
        super().__init__(" ".join(message.split()))


def merged(config, changes):
    """Maps are merged, null removes a key, all else is replaced (RFC 7396, JSON Merge Patch)."""
    result = dict(config) if isinstance(config, dict) else {}
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = merged(result.get(key), value)
        else:
            result[key] = value
    return result


class _StrictLoader(Composer, CParser, SafeConstructor, Resolver):
    """Plain YAML; a key that a map has twice is an error.

    Parsed in C and composed in Python, where too deep a nesting is an error and not a crash.
    """

    def __init__(self, stream):
        CParser.__init__(self, stream)
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)

    def construct_mapping(self, node, deep=False):
        if isinstance(node, yaml.MappingNode):
            given = set()
            for key_node, _ in node.value:
                if key_node.tag != "tag:yaml.org,2002:merge":
                    key = self.construct_object(key_node, deep=True)
                    if key in given:
                        raise ConfigError(f"{named(key)} is given twice{line_of(key_node)}")
                    given.add(key)
        return super().construct_mapping(node, deep)


def read_config(path):
    """Contents of a configuration file, a map in YAML or JSON.

    Raises ConfigError, which names the file, if it is none or gives a key twice, or asks Snakemake
    to evaluate it as a template.
    """
    try:
        config = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=_StrictLoader)
        check_extent(config)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    except yaml.MarkedYAMLError as error:
        where = line_of(error) if error.problem_mark else ""
        raise ConfigError(f"{path}: no valid YAML: {error.problem}{where}") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        reason = "too deep" if isinstance(error, RecursionError) else cut(str(error))
        raise ConfigError(f"{path}: no valid YAML: {reason}") from None
    if not isinstance(config, dict):
        raise ConfigError(f"{path}: must be a map, not {short(config)}")
    if "__use_yte__" in config:
        raise ConfigError(f"{path}: unknown key __use_yte__; templates are not evaluated here")
    return config


def _is_number(checker, value):
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the range of floats
        return False


def _is_integer(checker, value):
    return isinstance(value, int) and _is_number(checker, value)


_Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine_many(
        {"number": _is_number, "integer": _is_integer}
    ),
)


MOST_ENTRIES = 10**6  # of a configuration; those of a part that is repeated by an alias count again
LONGEST = 1000  # of a list
DEEPEST = 50  # of maps and lists in one another
LARGEST = 10**300  # of whole numbers; Python does not even print those of thousands of digits


def check_extent(value, path=(), sizes=None):
    """Raise a ConfigError for what cannot be handled, or printed; return the number of entries."""
    sizes = {} if sizes is None else sizes

    def refuse(problem):
        raise ConfigError(f"{'.'.join(map(named, path[:4])) or 'config'}: {problem}")

    if isinstance(value, int | float) and not abs(value) <= LARGEST:
        refuse(f"must be a finite number, not {short(value)}")
    if not isinstance(value, dict | list):
        return 1
    if len(path) > DEEPEST:
        refuse(f"has more than {DEEPEST} maps and lists in one another")
    if isinstance(value, list) and len(value) > LONGEST:
        refuse(f"has more than {LONGEST} entries")
    if id(value) not in sizes:
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        parts = (check_extent(entry, (*path, key), sizes) for key, entry in entries)
        sizes[id(value)] = 1 + sum(parts)
    if sizes[id(value)] > MOST_ENTRIES:
        refuse(f"has more than {MOST_ENTRIES} entries")
    return sizes[id(value)]


def check_schema(contents, schema, where="config"):
    """Raise a ConfigError for the first key that does not meet the schema.

    Parameters
    ----------
    contents : dict
    schema : dict
        JSON schema.
    where : str
        Keys that lead to the contents, as messages name them.
    """
    error = jsonschema.exceptions.best_match(_Validator(schema).iter_errors(contents))
    while error is not None and error.context:  # none of several schemas: the one of its type
        of_its_type = (cause for cause in error.context if cause.validator != "type")
        error = next(of_its_type, error.context[0])
    if error is not None:
        raise ConfigError(explain(error, where))


TYPES = {
    "number": "a finite number",
    "integer": "a whole number without a decimal point",
    "string": "a string",
    "object": "a map",
    "array": "a list",
}


def explain(error, where="config"):
    """One line for an error of the schema: where, what, and what would be valid."""
    for step in error.absolute_path:
        where += f"[{step}]" if isinstance(step, int) else f".{named(step)}"
    where = where.removeprefix("config.")
    limit, value = error.validator_value, error.instance
    match error.validator:
        case "additionalProperties":
            known = error.schema.get("properties", {})
            unknown = [key for key in value if key not in known]
            return f"{where}: unknown key {listed(unknown)}; valid keys: {listed(known)}"
        case "required":
            return f"{where}: missing key {listed(key for key in limit if key not in value)}"
        case "enum":
            return f"{where}: unknown value {short(value)}; valid values: {listed(limit)}"
        case "type":
            return f"{where}: must be {TYPES[limit]}, not {short(value)}"
        case "exclusiveMinimum":
            return f"{where}: must be greater than {limit}, not {short(value)}"
        case "minimum":
            return f"{where}: must be at least {limit}, not {short(value)}"
        case "maximum":
            return f"{where}: must be at most {limit}, not {short(value)}"
        case "minItems" | "minProperties":
            return f"{where}: has too few entries ({len(value)}); at least {limit} needed"
        case "maxItems":
            return f"{where}: has too many entries ({len(value)}); at most {limit} possible"
        case "uniqueItems":
            return f"{where}: lists an entry twice: {short(value)}"
        case "pattern":
            return (
                f"{where}: {short(value)} is not a valid id; an id is 1 to 64 lower-case letters, "
                "digits, dots and hyphens, and starts with a letter or digit"
            )
    return f"{where}: {error.message}"


# -- Words for messages ---------------------------------------------------------------------------


def listed(names):
    """Names with commas; of a long list the first twenty."""
    names = list(map(named, names))
    if len(names) > 21:
        names[20:] = [f"and {len(names) - 20} more"]
    return ", ".join(names)


def named(key):
    """A key as messages show it."""
    return cut(key) if isinstance(key, str) and key.isprintable() else short(key)


def short(value):
    """A value as messages show it."""
    try:
        return cut(reprlib.repr(value))
    except ValueError:  # Python does not print whole numbers of thousands of digits
        return "a huge number"


def cut(text):
    """The first letters of a long text."""
    return text if len(text) <= 60 else text[:57] + "..."


def line_of(marked):
    """Where in a file something is marked."""
    mark = getattr(marked, "problem_mark", None) or marked.start_mark
    return f" (line {mark.line + 1})"
