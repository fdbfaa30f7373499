from support.command_line import biasgrid, finished, lake
from support.reviews import review
