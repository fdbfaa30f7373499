from support.analysed_run import analysed, docs
