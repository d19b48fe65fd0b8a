"""Studies of the samplers of `dpmcmc`: configuration, jobs of the workflow, tables, pages."""
