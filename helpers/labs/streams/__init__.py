"""Lab 06: why is my timing wrong, and my sum too?"""

from helpers.labs import contents

globals().update(contents(__name__))
