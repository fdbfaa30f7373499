from support.deployments import client, listener, run_in, server
