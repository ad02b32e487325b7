"""The fleet: what the record of all jobs and nodes says, beside the single incident."""
