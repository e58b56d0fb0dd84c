"""What torch imports while it is used, imported once by the fork server: each check would do it anew.

It takes seconds, and a kernel does it only where an answer can be checked nowhere else than there or in a fork of it.
"""

import torch._inductor.config  # noqa: F401  use_deterministic_algorithms imports it, which replaces torch.manual_seed
import torch._subclasses.schema_check_mode  # noqa: F401  the first operation under a dispatch mode imports it
import torch.fx.experimental.symbolic_shapes  # noqa: F401  the first backward with a gradient given imports it: 0.35 s
import torch.utils.serialization.config  # noqa: F401  the first torch.save and torch.load import it
