"""Lab 04: what exactly changes when `step()` is called?"""

from helpers.labs import contents

globals().update(contents(__name__))
