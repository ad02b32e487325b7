"""The OpenAPI description and the page that shows it."""
