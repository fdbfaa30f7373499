from support.machines import endpoint, installed, machine, place, postgres, server, storage, wheel
