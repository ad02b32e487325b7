"""Notifications: who wants them, the outbox, delivery, and the weekly report."""
