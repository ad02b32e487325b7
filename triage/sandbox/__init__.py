"""A process that reads foreign bytes and can be killed: started, limited, asked and ended."""
