"""Evidence joined: where the dumps say it stopped, and what the logs say broke there.

Place before part. `causes` makes hypotheses of the rows, `claims` adds what the detectors
claim, `belief` weighs and bounds them, and `verdict` builds the answer from what is left.
"""
