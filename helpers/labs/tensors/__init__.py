"""Lab 11: Is this a view, and how many bytes does it keep alive?"""

from helpers.labs import contents

globals().update(contents(__name__))
