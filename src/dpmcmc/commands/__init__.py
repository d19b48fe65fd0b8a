"""The commands `new` and `check`; those of releases are in `dpmcmc.release.command`."""
