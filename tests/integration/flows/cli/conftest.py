from support.command_line import biasgrid, finished
