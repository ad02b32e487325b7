"""Jobs that move, and too slowly: whose doing it is, and what it costs."""
