"""Words that every rendering shares: safe text, numbers, ranges, the next step."""
