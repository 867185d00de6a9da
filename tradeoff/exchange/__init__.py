"""Curves as plain data with exact numbers, and back: what files and plans share."""

from tradeoff.exchange.codec import Codec, Form, attributes, record
from tradeoff.exchange.curves import CURVES

__all__ = ["CURVES", "Codec", "Form", "attributes", "record"]
