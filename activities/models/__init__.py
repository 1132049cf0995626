"""One model call: what the model sees, which model is asked, what becomes of its answer.

How an API is spoken is in `activities/providers`; nothing here knows a provider's words.
"""
