"""Arrays that are remembered, and so must not be changed."""


def read_only(array):
    """The array itself, protected from callers that would change what is remembered."""
    array.setflags(write=False)
    return array
