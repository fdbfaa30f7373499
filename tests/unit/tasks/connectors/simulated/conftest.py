from support.simulated_respondents import bench, catalog, shipped
