"""What stands beside kernel and job logs: health tools, controllers, schedulers, switches."""
