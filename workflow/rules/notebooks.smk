def notebook_outputs():
    return []
