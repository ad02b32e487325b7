"""Lines -> meaning: what the lines of logs say, one family a file, each entry with its proof."""
