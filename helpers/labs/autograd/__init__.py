"""Lab 03: what does backward() walk, and how do I add a node?"""

from helpers.labs import contents

globals().update(contents(__name__))
