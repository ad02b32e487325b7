"""The composition root: incidents and fleet put together into one service and its workers."""
