"""Import this before NumPy: it chooses the machine code, for the same digits on every machine."""

from dpmcmc.machine import pin

pin()
