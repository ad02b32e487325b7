"""What a step would take if nobody were slower than the others: replay of operation tables."""
