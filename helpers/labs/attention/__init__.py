"""Lab 13: who may look at whom, and what does it cost?"""

from helpers.labs import contents

globals().update(contents(__name__))
