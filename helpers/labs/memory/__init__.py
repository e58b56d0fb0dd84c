"""Lab 14: Where do the bytes go, and why out of memory with half of it free?"""

from helpers.labs import contents

globals().update(contents(__name__))
