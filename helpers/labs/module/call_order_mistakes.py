"""What people write for 05.call: which hooks run, and in what order."""

from __future__ import annotations

from typing import Any

import torch.nn.modules.module as hooks

from helpers.labs.module.call import call
from helpers.labs.module.call_steps import Call, Listed


@call.wrong_answer(
    "own_before_global",
    why="The module's own hooks ran before the global ones. It is the other way round, before forward and after it: "
    "the global hooks wrap all modules.",
    seen="It is the other way round",
)
class _(Call):
    def pre_hooks(self) -> Listed:
        return [*self.module._forward_pre_hooks.items(), *hooks._global_forward_pre_hooks.items()]

    def post_hooks(self) -> Listed:
        return [*self.module._forward_hooks.items(), *hooks._global_forward_hooks.items()]


@call.another_form("own_before_global")
class _(Call):
    def post_hooks(self) -> Listed:  # as an onion: the outermost is the last
        return [*self.module._forward_hooks.items(), *hooks._global_forward_hooks.items()]


@call.another_form("own_before_global")
class _(Call):
    def pre_hooks(self) -> Listed:
        return [*self.module._forward_pre_hooks.items(), *hooks._global_forward_pre_hooks.items()]


@call.wrong_answer(
    "no_global_hooks",
    why="Only the module's own hooks ran. Hooks that were registered for all modules stand in dicts of "
    "torch.nn.modules.module.",
    seen="Only the module's own hooks ran",
)
class _(Call):
    def pre_hooks(self) -> Listed:
        return list(self.module._forward_pre_hooks.items())

    def post_hooks(self) -> Listed:
        return list(self.module._forward_hooks.items())


@call.wrong_answer(
    "sorted_by_id",
    why="The hooks ran in the order of their ids, the order of registration. The order of the dict is what counts: "
    "prepend=True puts a hook first.",
    seen="prepend=True puts a hook first",
)
class _(Call):
    def pre_hooks(self) -> Listed:
        return [*hooks._global_forward_pre_hooks.items(), *sorted(self.module._forward_pre_hooks.items())]

    def post_hooks(self) -> Listed:
        return [*hooks._global_forward_hooks.items(), *sorted(self.module._forward_hooks.items())]


@call.wrong_answer(
    "dict_changed_in_the_loop",
    why="The loop runs over the dict itself, and a hook that removes itself changes its size: RuntimeError. Hooks that "
    "run once are common; make a list first.",
    seen="make a list first",
)
class _(Call):
    def before(self) -> None:
        for listed in (hooks._global_forward_pre_hooks, self.module._forward_pre_hooks):
            for id, hook in listed.items():
                self.pre(id, hook)

    def after(self) -> None:
        for listed in (hooks._global_forward_hooks, self.module._forward_hooks):
            for id, hook in listed.items():
                self.post(id, hook)


@call.another_form("dict_changed_in_the_loop")
class _(Call):
    def after(self) -> None:
        for listed in (hooks._global_forward_hooks, self.module._forward_hooks):
            for id, hook in listed.items():
                self.post(id, hook)


@call.wrong_answer(
    "hooks_listed_too_early",
    why="The hooks were listed at the start of the call. A pre-hook may remove one or add one, so the list is made when "
    "forward has run.",
    seen="listed at the start of the call",
)
class _(Call):
    def whole(self) -> Any:
        self.listed = super().post_hooks()
        return super().whole()

    def post_hooks(self) -> Listed:
        return self.listed


@call.wrong_answer(
    "removed_hook_skipped",
    why="A hook that an earlier one had removed in the same loop was skipped. torch goes through the list that it made "
    "when the loop began.",
    seen="was skipped",
)
class _(Call):
    def post(self, id: int, hook: Any) -> None:
        if id in self.module._forward_hooks or id in hooks._global_forward_hooks:
            super().post(id, hook)


@call.wrong_answer(
    "always_hooks_at_the_end",
    why="The always_call hooks were kept for the end, after all others. While nothing raises they are hooks like "
    "others, and run in their place.",
    seen="were kept for the end",
)
class _(Call):
    def post_hooks(self) -> Listed:
        return sorted(super().post_hooks(), key=lambda item: self.is_always(item[0]))
