"""Jobs of the workflow, one function each, with the same digits on every machine."""

import dpmcmc.pinned  # noqa: F401
