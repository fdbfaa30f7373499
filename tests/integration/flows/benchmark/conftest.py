from support.run_processes import asked, shell, slow
