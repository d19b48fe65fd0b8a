"""Configuration files: reading, merging, checking; errors name the key and what would be valid."""

import re
import reprlib
import sys
from pathlib import Path
from types import UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

import msgspec
import yaml

try:
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # where PyYAML is without libyaml
    from yaml import SafeLoader

Some = msgspec.Meta(min_length=1)


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


# -- Reading --------------------------------------------------------------------------------------


class Loader(SafeLoader):
    """YAML in which 1e4 is a number and a key that a map has twice is an error."""

    def construct_mapping(self, node, deep=False):
        """A map."""
        if isinstance(node, yaml.MappingNode):
            given = set()
            for key_node, _ in node.value:
                if key_node.tag != "tag:yaml.org,2002:merge":
                    key = self.construct_object(key_node, deep=True)
                    if key in given:
                        raise ConfigError(f"{named(key)} is given twice{line_of(key_node)}")
                    given.add(key)
        return super().construct_mapping(node, deep)

    def construct_power(self, node):
        """A number such as 1e4, which is whole, or 8e-3."""
        value = float(node.value)
        is_whole = "." not in node.value and value.is_integer()
        return int(value) if is_whole else value


POWER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$")  # YAML 1.1 wants a point and a sign
Loader.add_implicit_resolver("!power", POWER, list("-+.0123456789"))
Loader.add_constructor("!power", Loader.construct_power)


def read_yaml(text):
    """Contents of a YAML text, as files of studies are read; raises a ConfigError or YAMLError."""
    return yaml.load(text, Loader=Loader)


def read_config(path):
    """Contents of a configuration file, a map in YAML or JSON.

    Raises ConfigError, which names the file, if it is none or gives a key twice.
    """
    try:
        config = read_yaml(Path(path).read_text(encoding="utf-8"))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    except yaml.MarkedYAMLError as error:
        where = line_of(error) if error.problem_mark else ""
        raise ConfigError(f"{path}: no valid YAML: {error.problem}{where}") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, ValueError, TypeError, OverflowError) as error:
        raise ConfigError(f"{path}: no valid YAML ({type(error).__name__})") from None
    if not isinstance(config, dict):  # a file of data, perhaps: nothing of it is quoted
        raise ConfigError(f"{path}: must be a map, not {type(config).__name__}")
    return config


# -- Types ----------------------------------------------------------------------------------------


def converted(value, kind, where=""):
    """A value as its type.

    Parameters
    ----------
    value
        As read from a file.
    kind : type
        A msgspec Struct, whose fields are the keys of a map, or any other type that msgspec knows.
    where : str
        Keys that lead to the value, as messages name them.

    Raises
    ------
    ConfigError
        For the first part of the value that is not of its type.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(explained(value, kind, where, str(error))) from None


def explained(value, kind, where, problem):
    """Message for a value that msgspec refuses: the first part that is wrong, and what is valid."""
    kind = member_for(value, kind)
    bare, place = bare_type(kind), where or "config"
    parts = []
    if isinstance(value, dict) and hasattr(bare, "__struct_fields__"):
        fields = {field.encode_name: field for field in msgspec.structs.fields(bare)}
        unknown = [key for key in value if key not in fields]
        if unknown and bare.__struct_config__.forbid_unknown_fields:
            return f"{place}: unknown key {listed(unknown)}; valid keys: {listed(fields) or 'none'}"
        if missing := [key for key in fields if fields[key].required and key not in value]:
            return f"{place}: missing key {listed(missing)}"
        parts = [(value[key], fields[key].type, f".{key}") for key in fields if key in value]
    elif isinstance(value, dict) and get_origin(bare) is dict:
        for key, entry in value.items():
            of_key, of_entry = get_args(bare)
            parts += [(key, of_key, ""), (entry, of_entry, f".{named(key)}")]
    elif isinstance(value, list) and get_origin(bare) is list:
        parts = [(entry, *get_args(bare), f"[{i}]") for i, entry in enumerate(value)]
    for part, its_kind, its_place in parts:
        try:
            msgspec.convert(part, its_kind)
        except msgspec.ValidationError as error:
            its_place = (where + its_place).removeprefix(".")
            return explained(part, its_kind, its_place, str(error))
    return f"{place}: {in_words(problem, value, kind)}"


def bare_type(kind):
    """A type without its limits."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def member_for(value, kind):
    """The member of a union that a value is meant for; a type that is no union."""
    if get_origin(bare_type(kind)) not in (Union, UnionType):
        return kind
    is_list = isinstance(value, list)
    members = [
        member
        for member in get_args(bare_type(kind))
        if (get_origin(bare_type(member)) is list) == is_list
    ]
    exact = [member for member in members if bare_type(member) is type(value)]
    return (exact or members or [kind])[0]


WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "object": "a map",
    "array": "a list",
    "null": "nothing",
}


def in_words(problem, value, kind):
    """Problem of a value, by msgspec, if its parts are right."""
    if isinstance(value, int | float) and not abs(value) <= sys.float_info.max:
        return f"must be a finite number, not {short(value)}"
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:  # of the member of a union alone
        problem = str(error)
    if get_origin(kind) is Literal:
        return f"unknown value {short(value)}; valid values: {listed(get_args(kind))}"
    if "regex" in problem:
        return f"{short(value)} {kind.__metadata__[0].description}"
    expected = re.match("Expected `(.*?)`([^,]*)", problem)
    if not expected:
        return problem
    words = " or ".join(WORDS.get(name, name) for name in expected[1].split(" | "))
    hint = ""
    if isinstance(value, bool):
        hint = (
            " (YAML reads yes, no, on and off as true and false: quote names, recode words of data)"
        )
    return f"must be {words}{expected[2]}, not {short(value)}{hint}"


def check_known(names, known, where, what):
    """Raise a ConfigError for the first name that is not known."""
    for name in names:
        if name not in known:
            raise ConfigError(
                f"{where}: unknown {what} {named(name)}; valid {what}s: {listed(known)}"
            )


# -- Words for messages ---------------------------------------------------------------------------


def listed(names):
    """Names with commas; of a long list the first twenty."""
    names = list(map(named, names))
    if len(names) > 21:
        names[20:] = [f"and {len(names) - 20} more"]
    return ", ".join(names)


def named(key):
    """A key as messages show it."""
    is_plain = isinstance(key, str) and key.isprintable() and 0 < len(key) <= 60
    return key if is_plain else short(key)


def short(value):
    """A value as messages show it, cut where it is long."""
    try:
        return reprlib.repr(value)
    except ValueError:  # Python does not print whole numbers of thousands of digits
        return "a huge number"


def line_of(marked):
    """Place in a file, as text."""
    mark = getattr(marked, "problem_mark", None) or marked.start_mark
    return f" (line {mark.line + 1})"
