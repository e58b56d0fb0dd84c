"""Lab 08: why does the ring win?"""

from helpers.labs import contents

globals().update(contents(__name__))
