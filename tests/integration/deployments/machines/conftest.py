from support.machines import _until, endpoint, machine, place, postgres, server, storage, wheel
