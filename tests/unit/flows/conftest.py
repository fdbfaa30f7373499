from support.flows import (
    _no_forgotten_connections,
    _own_home,
    _requirement,
    comparable,
    judge,
    landed,
    overlay,
    scenario,
    serve,
)
