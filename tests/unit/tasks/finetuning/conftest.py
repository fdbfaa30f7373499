from support.finetuning import gateway, lake, steps, workshop
