"""Lab 05: where do my parameters live, and who gets called when?"""

from helpers.labs import contents

globals().update(contents(__name__))
