"""Data of others: `loaders` read their data sets, `any_file` recognises what is in a file of any form, `studies` compare judges and logs."""
