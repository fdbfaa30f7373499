from support.interaction import company, stage
from support.prompted_cells import catalog
