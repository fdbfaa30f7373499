from support.run_processes import asked, heard, shell, slow
