# Chapter 6 of the thesis from one command: see README.md.

from snakemake.utils import min_version

min_version("9.17")


include: "workflow/rules/scheduler.smk"
include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/budgets.smk"
include: "workflow/rules/audit.smk"
include: "workflow/rules/chains.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/notebooks.smk"
include: "workflow/rules/tuning.smk"


localrules:
    describe_study,
    provenance,
    site,


rule all:
    default_target: True
    input:
        f"{RESULTS}/index.html",


rule tables:
    input:
        table_files(study.all_tables),
        f"{RESULTS}/provenance.json",


rule tune:
    input:
        tuning_files,


onstart:
    for line in machine.note():
        print(line, file=sys.stderr)
    say_plan()


# A dry run does not call onstart.
if workflow.output_settings.dryrun:
    say_plan()


onerror:
    report_full_disk()
