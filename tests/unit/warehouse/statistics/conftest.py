from support.statistics_macros import adjusted, macros, naive, over, told
