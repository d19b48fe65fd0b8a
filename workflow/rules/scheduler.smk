# A defect of Snakemake's scheduler, worked around (seen in 9.27.1; delete when it is mended).
#
# To respect its job rate limit, the scheduler asks for another round a second after *every* round,
# and each of those rounds asks for one more. So while jobs wait for a free core, every job that
# starts adds a round a second for good: after five minutes they take a whole core. One pending
# request is enough; with it a job costs Snakemake 0.04 s of CPU instead of 0.2 s.

import threading

from snakemake.scheduling.job_scheduler import JobScheduler


def schedule_one_reevaluation(scheduler, delay):
    if not getattr(scheduler, "has_pending_reevaluation", False):
        scheduler.has_pending_reevaluation = True

        def reevaluate():
            scheduler.has_pending_reevaluation = False
            scheduler._open_jobs.release()

        threading.Timer(delay, reevaluate).start()


if hasattr(JobScheduler, "_schedule_reevalutation"):
    JobScheduler._schedule_reevalutation = schedule_one_reevaluation
