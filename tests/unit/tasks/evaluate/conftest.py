from support.oracle_replies import cases, english, read, responses, scenario_settings, spanish
from support.prompted_cells import catalog
