"""The offline page: what `--report` writes, one HTML file about one run or all launches of a program."""
