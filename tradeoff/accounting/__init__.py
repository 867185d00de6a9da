"""Laws of the privacy loss in, certified numbers out: planner, engines and what they remember.

No privacy policy here.
"""
