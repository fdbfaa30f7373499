from support.machines import endpoint, machine, place, postgres, server, storage, wheel
