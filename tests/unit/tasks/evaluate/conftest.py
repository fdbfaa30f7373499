from support.oracle_replies import cases, english, read, responses, scenario_settings, spanish
