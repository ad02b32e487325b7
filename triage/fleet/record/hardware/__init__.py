"""Parts by the identity of their maker: where they were when, and which node is which."""
