"""Parts by the identity of their maker: where they were when."""
