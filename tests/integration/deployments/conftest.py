from support.deployments import client, listener, run_in, server
from support.flows import _no_forgotten_connections
