"""Lab 07: what does DDP do while my backward runs?"""

from helpers.labs import contents

globals().update(contents(__name__))
