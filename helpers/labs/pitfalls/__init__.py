"""Lab 10: it runs, and it is wrong: how do I see that in a review?"""

from helpers.labs import contents

globals().update(contents(__name__))
