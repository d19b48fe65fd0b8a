"""Configurations gone wrong: `mutations(config)` makes many of one that is right."""

import copy
import math
from typing import NamedTuple

import yaml


class Mutation(NamedTuple):
    """One way to write a configuration."""

    kind: str
    keys: tuple  # of which a message about it should name one: the key itself, or what it is in
    source: object  # the text of the file, or a function that makes it

    @property
    def text(self):
        """Text of the file."""
        return self.source() if callable(self.source) else self.source


REFUSED = {"extra", "mistyped", "wrong type", "NaN", "infinite", "unsafe id", "unknown id"}
REFUSED |= {"no YAML", "given twice", "template"}
EITHER = {"missing", "empty", "null", "zero", "negative", "fraction", "huge", "tiny", "odd YAML"}

UNSAFE_IDS = [
    "../x",
    "..",
    "a/b",
    "/etc/passwd",
    "a\\b",
    "$(touch pwned)",
    "`touch pwned`",
    "a;touch pwned",
    "a|b",
    "a&b",
    "a b",
    "a\nb",
    "a\n",
    "",
    "A",
    ".hidden",
    "-flag",
    "x" * 65,
    "{wildcards.x}",
    "%s",
    "'",
    '"',
    "*",
    "~",
    "é",
    "\u202ea",
    "<b>",
    "a\0",
]

# Ways to write a file that YAML, Python or Snakemake take for something else, or choke on.
NO_YAML = {
    "a tab": "seeds:\n\t- 1\n",
    "unclosed": "runs: [1\n",
    "no map": "- 1\n- 2\n",
    "a string": "seeds\n",
    "nothing": "",
    "two documents": "seeds: 1\n---\nseeds: 2\n",
    "unknown alias": "seeds: *none\n",
    "object": 'seeds: !!python/object/apply:os.system ["touch pwned"]\n',
    "name": "seeds: !!python/name:os.system\n",
    "tuple": "seeds: !!python/tuple [1]\n",
    "own tag": "seeds: !run 1\n",
    "list as key": "? [a, b]\n: 1\n",
    "map as key": "? {a: b}\n: 1\n",
    "a map as its own key": "? &a {b: 1}\n: *a\n",
    "control character": "seeds: \x00\n",
    "no such date": "seeds: 2021-13-45\n",
    "long number": "seeds: " + "9" * 5000 + "\n",
    "merge of a number": "<<: 3\n",
}

ODD_YAML = {
    "yes": "seeds: yes\n",
    "octal": "seeds: 0o17\n",
    "old octal": "seeds: 017\n",
    "underscores": "seeds: 1_0\n",
    "base 60": "seeds: 1:30\n",
    "exponent without a point": "delta_times_n: 1e-1\n",
    "exponent": "delta_times_n: 1.0e-1\n",
    "exponent of a whole number": "seeds: 2.0e+1\n",
    "overflow": "delta_times_n: 1.0e+400\n",
    "underflow": "delta_times_n: 1.0e-400\n",
    "date": "study: 2021-01-01\n",
    "binary": "study: !!binary aGVsbG8=\n",
    "set": "seeds: !!set {a, b}\n",
    "ordered": "seeds: !!omap [a: 1]\n",
    "null as key": "null: 1\n",
    "number as key": "1: 1\n",
    "NaN as key": ".nan: 1\n",
    "long key": "? " + "k" * 100_000 + "\n: 1\n",
    "long string": "study: " + "k" * 100_000 + "\n",
    "quoted number": "seeds: '20'\n",
    "block": "study: |\n  a\n  b\n",
    "carriage returns": "seeds: 3\r\nseed: 4\r\n",
    "byte order mark": "\ufeffseeds: 3\n",
    "comment in a value": "seeds: 3#4\n",
    "capitals": "Seeds: 3\n",
    "space in a key": "'seeds ': 3\n",
    "merged map": "mmd: {<<: {bandwidth_pairs: 5}, max_draws: 7}\n",
    "JSON": '{"seeds": 3, "seed": 1}\n',
}

GIVEN_TWICE = {
    "seeds": "seeds: 3\nseeds: 4\n",
    "'seeds'": "seeds: 3\n'seeds': 4\n",
    "mmd": "mmd: {max_draws: 7}\nmmd: {max_draws: 8}\n",
    "max_draws": "mmd: {max_draws: 7, max_draws: 8}\n",
    "circle": "models:\n  circle: {num_rows: 9}\n  circle: {num_rows: 8}\n",
    "num_rows": "models:\n  circle: {num_rows: 9, num_rows: 8}\n",
    "JSON": '{"seeds": 3, "seeds": 4}\n',
}


CLASSES = ("kind", "sampler", "move", "accountant")  # keys whose value is a name of the package


def dump(config):
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return yaml.dump(config, Dumper=dumper, sort_keys=False, allow_unicode=True)


def leaves(node, path=()):
    """Paths of everything below a node, maps and lists before what they hold."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from leaves(value, (*path, key))


def parent_of(config, path):
    for key in path[:-1]:
        config = config[key]
    return config


def mutations(config):
    """All mutations of a valid configuration; the same each time."""
    names = config["models"].keys() | config["algorithms"].keys()

    def changed(kind, path, change):
        """The file in which `change` has been made to the parent of a path."""

        def text():
            copied = copy.deepcopy(config)
            change(parent_of(copied, path), path[-1])
            return dump(copied)

        keys = [key for key in path if isinstance(key, str)]
        return Mutation(kind, tuple(keys[-2:]), text)

    def put(value):
        return lambda parent, key: parent.__setitem__(key, value)

    for path in leaves(config):
        any_text = path[-1] in ("label", "about", "section", "statement")
        if any_text or path[0] in ("remarks", "related", "title"):
            continue
        value = parent_of(config, path)[path[-1]]
        yield changed("missing", path, lambda parent, key: parent.pop(key))
        yield changed("null", path, put(None))
        if isinstance(path[-1], str):
            letters = path[-1][:-1] + "q"

            def rename(parent, key, letters=letters):
                parent[letters] = parent.pop(key)

            yield changed("mistyped", path, rename)._replace(keys=(path[-1][:-1],))
        if isinstance(value, dict):
            for wrong in ([], "text", 3, True):
                yield changed("wrong type", path, put(wrong))
            yield changed("empty", path, put({}))
            yield changed("extra", path, put(value | {"additional": 1}))._replace(
                keys=("additional",)
            )
        elif isinstance(value, list):
            for wrong in ({}, "text", True):
                yield changed("wrong type", path, put(wrong))
            yield changed("empty", path, put([]))
            yield changed("huge", path, put(value * 5000))
        elif isinstance(value, str):
            for wrong in (3, True, [], {}):
                yield changed("wrong type", path, put(wrong))
            yield (
                changed("unknown id", path, put("nowhere"))
                if value in names or path[-1] in CLASSES
                else changed("unsafe id", path, put("../x"))
            )
        else:
            for wrong in ("text", f"{value} ", True, [[]], {}):  # a quoted number
                yield changed("wrong type", path, put(wrong))
            yield changed("NaN", path, put(math.nan))
            yield changed("infinite", path, put(math.inf))
            yield changed("infinite", path, put(-math.inf))
            yield changed("zero", path, put(0))
            yield changed("negative", path, put(-1))
            yield changed("fraction", path, put(0.5))
            yield changed("huge", path, put(10**30))
            yield changed("huge", path, put(1e300))
            yield changed("tiny", path, put(1e-300))

    for name in UNSAFE_IDS:
        yield changed("unsafe id", ("study",), put(name))
        yield changed("unsafe id", ("runs", 0, "models", 0), put(name))
        yield changed("unsafe id", ("runs", 0, "algorithms", 0), put(name))._replace(keys=("runs",))
        yield changed("unsafe id", ("notebooks", "comparison", "models"), put([name]))
        settings = config["models"]["circle"]
        yield changed("unsafe id", ("models", name), put(settings))._replace(keys=("models",))
        yield changed("extra", ("algorithms", name), put({}))._replace(keys=("algorithms",))

    text = dump(config)

    def without(lines):
        """The configuration's other keys, so that a line given anew is there once."""
        kept = {key: value for key, value in config.items() if f"{key}:" not in lines}
        return dump(kept)

    for lines in NO_YAML.values():
        yield Mutation("no YAML", ("study.yaml",), lines)
    for lines in ODD_YAML.values():
        is_json = lines.startswith("{")
        yield Mutation("odd YAML", ("",), lines if is_json else lines + without(lines))
    for key, lines in GIVEN_TWICE.items():
        key = "seeds" if key in ("'seeds'", "JSON") else key
        yield Mutation(
            "given twice", (key,), lines if lines.startswith("{") else lines + without(lines)
        )
    for line in text.splitlines():
        if line[0].isalpha():  # a key of the top level, at the end once more
            key = line.partition(":")[0]
            yield Mutation("given twice", (key,), f"{text}{key}: 1\n")
    for flag in ("true", "false", "1"):
        yield Mutation("template", ("__use_yte__",), f"__use_yte__: {flag}\n{text}")
