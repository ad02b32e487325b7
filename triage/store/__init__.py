"""The doorway to rows and bytes; nothing else imports the tables."""
