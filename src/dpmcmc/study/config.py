"""Stub: the module of this name reads configurations."""


class ConfigError(ValueError):
    """A configuration that cannot run; the message is one line that names the key."""

    def __init__(self, message):
        super().__init__(" ".join(message.split()))
