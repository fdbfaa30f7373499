from support.prompted_cells import catalog, lake, model, open_pool, planned, target
