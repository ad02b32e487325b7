"""The pages for people: server-rendered, one style sheet, a little script, nothing from outside."""
