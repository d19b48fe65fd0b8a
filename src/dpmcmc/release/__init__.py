"""One private posterior of real data, from the file to what may be published.

`docs/release.md` says what is promised, to whom, and proves it. Here are

    command     the commands `ledger`, `release` and `rehearse`
    reading     the study's file: a model, an algorithm, and where the data are
    plan        what a release will run and cost, worked out without the data
    ledger      what has been spent of the budget of a file of data, on disk
    inside      the only process that reads the data; it gives back draws, or one of a few words
    libraries   are those that are installed
    outside     what starts it, and understands no more than that
    streams     secret randomness, and the one place where noise is added, and what is spent counted
    noise       the exact discrete Gaussian, by OpenDP
    rows        sums over rows, each row read by itself
    statement   what may be published: draws, and what they cost
    rehearsal   the same release on simulated twins
"""
