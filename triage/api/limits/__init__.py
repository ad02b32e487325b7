"""How much is taken in at once, and how long a sender is waited for."""
