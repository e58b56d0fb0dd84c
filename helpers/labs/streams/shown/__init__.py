"""What the notebook of lab 06 shows and uses, beside its exercises."""

from helpers.labs.streams.shown.float_formats import FORMATS, Fields, fields
from helpers.labs.streams.shown.programs import EXAMPLES
from helpers.labs.streams.shown.racy import racy
from helpers.labs.streams.shown.simulate_device import device_times

__all__ = ["EXAMPLES", "FORMATS", "Fields", "device_times", "fields", "racy"]
