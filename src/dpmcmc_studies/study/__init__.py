"""From a configuration to the jobs it asks for."""
