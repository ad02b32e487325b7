"""The HTTP interface of the service: routes, tokens, problems, the OpenAPI description."""
