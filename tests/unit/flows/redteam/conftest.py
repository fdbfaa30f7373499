from support.prompted_cells import catalog
from support.redteam import goal, play, scene
