from support.interaction import catalog, company, stage
