from support.statistics_macros import adjusted, call, macros, naive, over
