from support.connectors import ask, catalog, key, quick, reach, refusal, scripted, server, target
