"""Predictions of lab 14. Each question stands in the notebook, above the cell that shows what happens."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

peak_place = Prediction(
    "14.peak_place",
    "The worst moment of a step",
    {
        "A": Choice(
            "When the forward ends: all activations are there, and nothing has been freed.",
            "Six activations are 0.75 MiB. The gradients that come after them are 6 MiB. It would be so with a batch that is large beside the weights.",
            "forward_is_highest",
        ),
        "B": Choice(
            "In the middle of the backward, when half of the activations and half of the gradients are there.",
            "What goes and what comes are not of one size here: each layer gives back 0.125 MiB and gets a gradient of 1 MiB.",
            "they_balance",
        ),
        "C": Choice(
            "In `optimizer.step()`, which makes new weights beside the old ones.",
            "The step writes into the weights that are there. Plain SGD needs next to nothing on the way.",
            "new_weights",
        ),
        "D": Choice(
            "When the backward ends: the gradients are there, and each is as large as its weight.",
            "Each layer of the backward takes an activation of 0.125 MiB away and brings a gradient of 1 MiB.",
        ),
    },
)

activation_saves = Prediction(
    "14.activation_saves",
    "ReLU or GELU",
    {
        "A": Choice(
            "Nothing: one activation function, one tensor of the same size.",
            "It depends on what the derivative's formula needs: the result, which the next layer saves anyway, or the input, which nobody else keeps.",
            "one_each",
        ),
        "B": Choice(
            "They double: GELU saves its input, and the next layer saves the result.",
            "ReLU's derivative can be had from its result, which the next layer saves, too. GELU's needs its input.",
        ),
        "C": Choice(
            "They double: GELU is computed in two steps, and both results are saved.",
            "It is one kernel, and one node in the graph. What it saves is its input.",
            "two_steps",
        ),
        "D": Choice(
            "They halve: ReLU saves a mask beside its result.",
            "It saves no mask: where its result is above 0, the derivative is 1.",
            "a_mask",
        ),
    },
)

bf16_state = Prediction(
    "14.bf16_state",
    "Adam's state in bfloat16",
    {
        "A": Choice(
            "They stay float32: the optimizer keeps its sums in full precision.",
            "Nothing in torch.optim does so by itself. Mixed precision keeps the weights in float32, and the state with them.",
            "full_precision",
        ),
        "B": Choice(
            "They are bfloat16, like the parameters they belong to.",
            "It is made with torch.zeros_like(parameter).",
        ),
        "C": Choice(
            "The first is bfloat16, the second float32, since squares need the range.",
            "bfloat16 has the range of float32, it lacks digits. And the optimizer makes both states in one way.",
            "range_of_squares",
        ),
        "D": Choice(
            "There is a third one: a float32 copy of the weights.",
            'Some libraries keep such a copy ("master weights"). torch.optim does not.',
            "master_weights",
        ),
    },
)

foreach_peak = Prediction(
    "14.foreach_peak",
    "Temporaries of a step",
    {
        "A": Choice(
            "As much as the first: about 3 MiB, since lists hold only references.",
            "The lists do. But each operation on a list makes a list of results, and all of them live until the next operation has read them.",
            "references_only",
        ),
        "B": Choice(
            "Less than the first: one kernel needs no room in between.",
            "That is fused=True. foreach=True makes few kernels, and each gives its results as new tensors.",
            "no_room_needed",
        ),
        "C": Choice(
            "6 MiB: a temporary for every parameter lives at the same time.",
            "Each operation runs over all parameters before the next one begins, so its results live side by side.",
        ),
        "D": Choice(
            "24 MiB: weights, gradients and both states are copied into one buffer each.",
            "Nothing is copied together: the kernels get lists of addresses.",
            "one_buffer_each",
        ),
    },
)

clip_inside = Prediction(
    "14.clip_inside",
    "Clipping inside the backward",
    {
        "A": Choice(
            "It goes on as before, if it is called in the hook of the last parameter.",
            "When the last hook runs, all other gradients have been used and freed.",
            "in_the_last_hook",
        ),
        "B": Choice(
            "It cannot be done so: the norm of all gradients is known only when the last has come, and the first are gone by then.",
            "A norm over all gradients needs all gradients.",
        ),
        "C": Choice(
            "It is called in each hook with one parameter, and gives the same.",
            "Each gradient is then scaled by its own norm. The direction of the whole is no longer that of the gradient.",
            "one_by_one",
        ),
        "D": Choice(
            "It must be called before the backward.",
            "Before the backward there are no gradients.",
            "before",
        ),
    },
)

kept_loss = Prediction(
    "14.kept_loss",
    "A list of losses",
    {
        "A": Choice(
            "In training four bytes, in validation all activations: the backward has freed what was saved.",
            "backward() frees the saved tensors as it goes. Without one, and without no_grad, they stay as long as the loss.",
        ),
        "B": Choice(
            "In both only four bytes: the number of the loss.",
            "A tensor that requires grad holds its node, and the node what it saved, as long as no backward has freed it.",
            "only_a_number",
        ),
        "C": Choice(
            "In both its whole graph with all activations.",
            "The nodes of the graph live, yes. But a backward frees what they have saved, unless retain_graph says otherwise.",
            "always_the_graph",
        ),
        "D": Choice(
            "In training all activations, in validation four bytes: without a backward no graph is made.",
            "The graph is made by the forward, whether a backward follows or not. That is what no_grad is for.",
            "no_backward_no_graph",
        ),
    },
)

first_request = Prediction(
    "14.first_request",
    "A little more than 1 MiB",
    {
        "A": Choice(
            "1,049,088: the request, rounded up to 512.",
            "That is the block, and memory_allocated. The device is asked for more at a time.",
            "the_block",
        ),
        "B": Choice(
            "2,097,152: the next multiple of 2 MiB.",
            "Small are blocks of up to 1 MiB. This one is larger, if only by 512 bytes.",
            "small_after_all",
        ),
        "C": Choice(
            "20,971,520: it is just too large for a small segment.",
            "Above 1 MiB a block comes from a large segment, and those are of 20 MiB.",
        ),
        "D": Choice(
            "1,048,580: what was asked for.",
            "Not even the block is so small: it is a multiple of 512.",
            "as_asked",
        ),
    },
)

one_live_block = Prediction(
    "14.one_live_block",
    "One block of ten",
    {
        "A": Choice(
            "20 MiB: a segment with one block that is handed out stays whole.",
            "A segment goes back as a whole or not at all.",
        ),
        "B": Choice(
            "2 MiB: what is idle goes back.",
            "cudaFree takes an address that cudaMalloc gave, and all that belongs to it.",
            "in_parts",
        ),
        "C": Choice(
            "4 MiB: a segment is cut to a multiple of 2 MiB, with some room to spare.",
            "A segment keeps its size. The driver has no call that shortens what it gave.",
            "cut_to_size",
        ),
        "D": Choice(
            "0: the last tensor is moved to a new place first.",
            "Its address is in tensors, graphs and kernels that are queued. Nobody can find and change them all.",
            "moved",
        ),
    },
)

half_free = Prediction(
    "14.half_free",
    "Four of fourteen",
    {
        "A": Choice(
            "It is served by the idle blocks: they have 10 MiB.",
            "A block is one piece of memory, and each idle piece has 2 MiB.",
            "bytes_count",
        ),
        "B": Choice(
            "It is served by a new segment of 4 MiB, the rest of the device.",
            "A request between 1 and 10 MiB asks for a segment of 20 MiB, and takes no smaller one.",
            "what_is_needed",
        ),
        "C": Choice(
            "It is served when the idle blocks have been merged.",
            "Each idle block stands between two that are out. There is nothing to merge.",
            "neighbours",
        ),
        "D": Choice(
            "It is refused: out of memory.",
            "Five idle blocks of 2 MiB, no two side by side, and 4 MiB left for a segment of 20.",
        ),
    },
)

recall_tied = Prediction(
    "14.recall_tied",
    "Recall: tied weights",
    {
        "A": Choice(
            "Both count it once.",
            "A state dict has both names, each with the tensor.",
            "both_once",
        ),
        "B": Choice(
            "Both count it twice.",
            "named_parameters(remove_duplicate=False) would give it twice. parameters() does not.",
            "both_twice",
        ),
        "C": Choice(
            "The first counts it twice, the second once.",
            "It is the other way round: parameters() looks whether it has given a tensor already.",
            "the_other_way",
        ),
        "D": Choice(
            "The first counts it once, the second twice.",
            "parameters() leaves out a tensor that it has given; a state dict keeps every name.",
        ),
    },
)

recall_ring = Prediction(
    "14.recall_ring",
    "Recall: bytes of a ring",
    {
        "A": Choice(
            "400 MB; it grows.",
            "That is what one rank would get if all sent everything to all.",
            "all_to_all",
        ),
        "B": Choice(
            "100 MB; it grows.",
            "Each piece goes around twice: once to be summed, once to be spread. Less one step each.",
            "once",
        ),
        "C": Choice(
            "150 MB; it does not grow.",
            "2 * 3 / 4 of the bytes, in pieces of a quarter.",
        ),
        "D": Choice(
            "300 MB; it does not grow.",
            "In each of the 2 * 3 steps a quarter is sent, not the whole.",
            "three_whole_ones",
        ),
    },
)
