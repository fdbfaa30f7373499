from support.redteam import catalog, goal, play, scene
