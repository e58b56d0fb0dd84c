"""Lab 01: when are two training runs the same, bit for bit?"""

from helpers.labs import contents

globals().update(contents(__name__))
