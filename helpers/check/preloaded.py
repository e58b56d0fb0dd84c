"""What torch imports while it is used, imported once by the fork server: each check would do it anew.

Not by a kernel, where it takes seconds and is seldom needed; a check in a fork of the kernel does without.
"""

import torch._inductor.config  # noqa: F401  use_deterministic_algorithms imports it, which replaces torch.manual_seed
import torch._subclasses.schema_check_mode  # noqa: F401  the first operation under a dispatch mode imports it
import torch.fx.experimental.symbolic_shapes  # noqa: F401  the first backward with a gradient given imports it: 0.35 s
import torch.utils.serialization.config  # noqa: F401  the first torch.save and torch.load import it
