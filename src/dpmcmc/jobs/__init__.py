"""Jobs of the workflow, one function each, with the same digits on every machine."""

from dpmcmc.machine import pin

pin()
