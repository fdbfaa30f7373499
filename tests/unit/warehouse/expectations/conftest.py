from support.expectations import finished, inspector, landed_again, rewritten, whole
