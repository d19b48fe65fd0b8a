# make        set up the environment and run the whole study with all cores
# make test   set up the environment and run all checks
# make torture       what `make test` has one of a kind of, at length: every sampler, accountant and
#             mutation of a configuration, twenty kills; faults that the tests have to see; and
#             a whole study on Slurm
# make test-cluster  the checks on a Slurm that they start themselves, on this machine alone
# make quick  the small study (studies/quick/study.yaml)
# make which-method, make dp-hmc-paper, make dp-mcmc-paper, make sghmc-thesis,
# make noisy-statistics, make chapter-6-data-sets  other studies (studies/*/study.yaml)
# make site   one site of docs/, the pages of all studies and the public names: results/site
# make docs   run all studies and put their pages, figures and tables into docs/
# With STUDY=name, or else for all studies in docs/:
# make pages        render the pages anew from the committed tables, without a chain
# make update       run the parts of the tables that have changed, and put their rows into these
# make docs-status  whether code or settings have changed since tables and pages were made
# make docs-mark    let pages say so where they have
# make attest       where they have: run the first chains of what changed, and compare
# make spot-check   run chains drawn at random again, and compare
# make verify       whether the tables of studies that have run here are those in docs/
# make release       install what a release of real data needs (docs/release.md)
# make cluster       install what the profiles for clusters need (docs/cluster.md)
# make bench  measure what the study costs (docs/benchmark.md); BASE=directory compares with
#             another checkout. It takes the time of the whole study, and needs its results.
# make lock   resolve the requirements anew (envs/*.txt), for each of Pythons 3.11 to 3.13

PYTHON ?= python3
CORES ?= all
RESULTS = results/chapter-6
SNAKEMAKE = .venv/bin/snakemake --cores $(CORES)
DPMCMC = .venv/bin/python -m dpmcmc
# `make lock UPGRADE=` keeps the versions that are there, as far as they go.
UPGRADE ?= --upgrade
COMPILE = .venv/lock/bin/uv pip compile --quiet --universal --fork-strategy fewest $(UPGRADE) \
    --python-version 3.11 --generate-hashes --no-header --annotation-style line
BUILD_REQUIRES = import tomllib; \
    print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")

# Studies beside chapter 6 whose pages are in docs/.
OTHERS = which-method dp-hmc-paper dp-mcmc-paper sghmc-thesis noisy-statistics chapter-6-data-sets

.PHONY: study quick test torture test-cluster cluster release site docs pages update docs-status \
    docs-mark attest spot-check verify bench lock docs-chapter-6 $(OTHERS) $(OTHERS:%=docs-%)

study: .venv/ready
	$(SNAKEMAKE)

quick: .venv/ready
	$(SNAKEMAKE) --configfile studies/quick/study.yaml

# As many at a time as there are cores; `.venv/bin/pytest` alone takes them one by one.
test: .venv/ready .venv/tests
	.venv/bin/pytest --numprocesses logical --maxprocesses 8 --dist load \
	    --maxschedchunk 1 --durations 20

torture: .venv/ready .venv/tests
	@echo "In addition to make test: its cases of every sampler, accountant, target and mutation of"
	@echo "a configuration; a study killed twenty times and damaged; faults put into the package;"
	@echo "a whole study on Slurm."
	.venv/bin/pytest -m torture
	.venv/bin/pytest --capture=no --kills 20 tests/workflow/test_interruption.py
	.venv/bin/python tests/mutants.py
	$(MAKE) cluster
	.venv/bin/pytest --capture=no -m torture tests/cluster/check_cluster.py

test-cluster: cluster .venv/tests
	.venv/bin/pytest --capture=no tests/cluster/check_cluster.py

cluster: .venv/ready
	.venv/bin/pip install --quiet --require-hashes --requirement envs/cluster.txt

release: .venv/ready
	.venv/bin/pip install --quiet --require-hashes --requirement envs/release.txt

$(OTHERS): .venv/ready
	$(SNAKEMAKE) --configfile studies/$@/study.yaml

site: .venv/ready
	rm -rf docs/api results/site
	.venv/bin/sphinx-build --quiet --fail-on-warning --conf-dir src/dpmcmc/reporting/site \
	    --doctree-dir results/.doctrees docs results/site
	rm -rf results/.doctrees

docs: docs-chapter-6 $(OTHERS:%=docs-%)

docs-chapter-6: study
	$(DPMCMC) docs publish chapter-6

$(OTHERS:%=docs-%): docs-%: %
	$(DPMCMC) docs publish $*

# Of one study, or of all that are committed.
pages update docs-status docs-mark attest spot-check verify: .venv/ready
	@$(DPMCMC) docs $(@:docs-%=%) $(STUDY)

bench: study
	.venv/bin/python bench/bench.py --results $(RESULTS) --output docs/benchmark.md \
	    $(if $(BASE),--base $(BASE))

.venv/ready: .venv/installed $(wildcard src/dpmcmc/kernels/*.py)
	.venv/bin/python -m compileall -q src
	.venv/bin/python -m dpmcmc.kernels.build
	touch $@

.venv/installed: envs/requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13) and "Python 3.11, 3.12 or 3.13 is needed, as the locked packages are for them; $(PYTHON) is %d.%d. Name another by: make PYTHON=python3.12" % sys.version_info[:2])'
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet --require-hashes --requirement envs/requirements.txt
	.venv/bin/pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

.venv/tests: .venv/installed envs/test.txt
	.venv/bin/pip install --quiet --require-hashes --requirement envs/test.txt
	touch $@

lock:
	$(PYTHON) -m venv .venv/lock
	.venv/lock/bin/pip install --quiet uv
	.venv/lock/bin/python -c '$(BUILD_REQUIRES)' | $(COMPILE) --extra workflow \
	    --output-file envs/requirements.txt - pyproject.toml
	$(COMPILE) --extra test --constraint envs/requirements.txt \
	    --output-file envs/test.txt pyproject.toml
	$(COMPILE) --extra release --constraint envs/requirements.txt --constraint envs/test.txt \
	    --output-file envs/release.txt pyproject.toml
	$(COMPILE) --extra cluster --constraint envs/requirements.txt --constraint envs/test.txt \
	    --output-file envs/cluster.txt pyproject.toml
