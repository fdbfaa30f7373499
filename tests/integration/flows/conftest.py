from support.flows import (
    _no_forgotten_connections,
    _own_home,
    _requirement,
    comparable,
    judge,
    landed,
    overlay,
    prefect_api,
    prefect_server,
    recorded,
    scenario,
    serve,
)
