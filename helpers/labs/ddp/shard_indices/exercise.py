"""Exercise 07.shard_indices: which samples a rank takes in an epoch."""

from __future__ import annotations

from collections.abc import Callable

from torch.utils.data.distributed import DistributedSampler

from helpers.check.calls import calls_to
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.ddp.shard_indices.orders import kind_of_order

Answer = Callable[..., list[int]]
LIST = "The result is a list of plain ints."

shard_indices = Exercise(
    "07.shard_indices",
    "Each rank takes its share",
    objective="Deal the samples of an epoch to the ranks: equally many each, every sample somewhere, the same order on "
    "all ranks and a different one in each epoch.",
    minutes=20,
    difficulty="easy",
    hints=[
        "No rank talks to another one here. So all of them have to make the same order, each on its own, and then take "
        "different places of it. What must their generators have in common, and what may not be in the seed?",
        "The length first: each rank gets `n // world` samples with drop_last and `ceil(n / world)` without it. Make an "
        "order of exactly `each * world` samples, by cutting its end or by starting it again. If n is smaller than world, "
        "once again is not enough.",
        "`generator = torch.Generator().manual_seed(seed + epoch)`, "
        "`order = torch.randperm(n, generator=generator).tolist()`; then `(order * times)[:total]` with enough times, and "
        "`order[rank:total:world]`.",
    ],
)


def right_shares(
    n: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int
) -> list[list[int]]:
    """By rank: what torch's sampler gives."""
    shares = []
    for rank in range(world):
        sampler = DistributedSampler(
            range(n),  # type: ignore[arg-type]
            num_replicas=world,
            rank=rank,
            shuffle=shuffle,
            seed=seed,
            drop_last=drop_last,
        )
        sampler.set_epoch(epoch)
        shares.append(list(sampler))
    return shares


def compare(
    answer: Answer,
    trial: Trial,
    n: int,
    world: int,
    epoch: int = 0,
    *,
    shuffle: bool = False,
    drop_last: bool = False,
    seed: int = 0,
) -> None:
    """Asks for the share of each rank; what is wrong between the ranks is said before a single wrong value."""
    trial.given(
        f"shard_indices({n}, rank, {world}, epoch={epoch}, {shuffle=}, {drop_last=}, {seed=}) on each rank"
    )
    shares = []

    def ask() -> None:
        for rank in range(world):
            got = answer(n, rank, world, epoch, shuffle=shuffle, drop_last=drop_last, seed=seed)
            _is_list_of_ints(trial, got, rank)
            shares.append(got)

    trial.call(ask)  # one for all ranks: it takes longer than a share
    wants = right_shares(n, world, epoch, shuffle=shuffle, drop_last=drop_last, seed=seed)
    if shares == wants:
        return
    _equally_long(trial, shares)
    fits = shuffle and len(shares[0]) == len(wants[0])
    again = shares
    if fits:
        again = [
            answer(n, rank, world, epoch, shuffle=shuffle, drop_last=drop_last, seed=seed)
            for rank in range(world)
        ]
    # Which samples are taken twice is no feature: ranks that shuffle on their own are told by that alone.
    observed = ("ranks shuffle on their own", again == shares) if fits else shares
    kind = kind_of_order(shares, epoch=epoch, seed=seed) if fits and again == shares else ""
    if n % world == 0:
        _apart(trial, shares, observed)
    elif not drop_last:
        _all_taken(trial, shares, n, observed)
    for rank, (got, want) in enumerate(zip(shares, wants, strict=True)):
        trial.equal(got, want, f"The samples of rank {rank}", observed=("order", kind) if kind else shares)


def _is_list_of_ints(trial: Trial, got: object, rank: int) -> None:
    kind = type(got).__name__
    trial.true(
        got is not None, "The answer returned None. Is a `return` missing?", got="None", observed="None"
    )
    trial.true(
        isinstance(got, list),
        f"Rank {rank} gets no list.",
        expected=f"a list, as asked: {LIST}",
        got=kind,
        observed=kind,
    )
    strange = next((type(item).__name__ for item in got if type(item) is not int), None)
    trial.true(
        strange is None,
        f"The list of rank {rank} holds something else than plain ints.",
        expected=f"plain ints, as `.tolist()` gives them; as asked: {LIST}",
        got=strange,
        observed=("item", strange),
    )


def _equally_long(trial: Trial, shares: list[list[int]]) -> None:
    lengths = [len(share) for share in shares]
    trial.true(
        len(set(lengths)) == 1,
        "The ranks get different numbers of samples. A rank with more of them starts a step that the others do not "
        "start, and waits in its all-reduce for ever.",
        expected="equally many on each rank",
        got=f"by rank: {lengths}",
        observed=shares,
    )


def _apart(trial: Trial, shares: list[list[int]], observed: object) -> None:
    for one, own in enumerate(shares):
        for other in range(one):
            twice = sorted(set(own) & set(shares[other]))
            trial.true(
                not twice,
                f"Ranks {other} and {one} both take the samples {twice[:4]}, although world divides n: other samples are "
                "then taken by nobody.",
                expected="each sample on one rank",
                got=f"rank {other}: {shares[other]}, rank {one}: {own}",
                observed=observed,
            )


def _all_taken(trial: Trial, shares: list[list[int]], n: int, observed: object) -> None:
    lost = sorted(set(range(n)).difference(*shares))
    trial.true(
        not lost,
        f"The samples {lost[:4]} are taken by no rank, although all ranks together have more places than there are "
        "samples.",
        expected="each sample on one rank or more",
        got=f"by rank: {shares}",
        observed=observed,
    )


@shard_indices.property(
    "after a call without shuffle the global generators are as they were",
    asks="After the call the global generators are as they were before: take a torch.Generator of your own.",
)
def generators_stay(answer: Answer, trial: Trial) -> None:
    """What is left changed is found at the end of every property; here it is under the words that ask for it."""
    trial.given("shard_indices(12, 1, 3, epoch=0, shuffle=False, drop_last=False, seed=0)")
    try:
        answer(12, 1, 3, 0, shuffle=False, drop_last=False, seed=0)
    except NotImplementedError:
        raise
    except Exception:
        pass  # the next property tells it


@shard_indices.property(
    "in order, world divides n: every world-th sample, beginning with the rank's own number",
    asks=(
        "The order of the epoch is 0 ... n - 1.",
        "Rank r takes the places r, r + world, r + 2 * world, ... of that order.",
        "The result is a list of plain ints.",
    ),
)
def in_order(answer: Answer, trial: Trial) -> None:
    for n, world in ((12, 3), (8, 4), (5, 1)):
        compare(answer, trial, n, world)


@shard_indices.property(
    "where world does not divide n, the order is begun again until all have equally many",
    asks=("All ranks get equally many samples.", "without it the order is repeated from its start"),
)
def padded(answer: Answer, trial: Trial) -> None:
    for n, world in ((10, 4), (7, 3), (5, 2)):
        compare(answer, trial, n, world)


@shard_indices.property(
    "fewer samples than ranks: each rank still has one",
    asks=("All ranks get equally many samples.", "as often as needed (n may be smaller than world)"),
)
def few_samples(answer: Answer, trial: Trial) -> None:
    for n, world in ((2, 5), (1, 4), (3, 8)):
        compare(answer, trial, n, world)


@shard_indices.property(
    "with drop_last, the end of the order is dropped instead",
    asks=(
        "All ranks get equally many samples.",
        "If world does not divide n, with drop_last the end of the order is dropped",
    ),
)
def dropped(answer: Answer, trial: Trial) -> None:
    for n, world in ((10, 4), (11, 3), (3, 5), (12, 4)):
        compare(answer, trial, n, world, drop_last=True)


@shard_indices.property(
    "with shuffle, all ranks deal from the one permutation of this seed",
    asks=(
        "With shuffle it is `torch.randperm(n)`, drawn with the seed `seed + epoch`, the same on every rank.",
        "After the call the global generators are as they were before: take a torch.Generator of your own.",
        "The result is a list of plain ints.",
    ),
)
def shuffled(answer: Answer, trial: Trial) -> None:
    for n, world in ((24, 3), (20, 4)):
        compare(answer, trial, n, world, shuffle=True, seed=trial.random.randrange(100, 10_000))


@shard_indices.property(
    "with shuffle, each epoch has an order of its own", asks=("drawn with the seed `seed + epoch`",)
)
def epochs(answer: Answer, trial: Trial) -> None:
    seed = trial.random.randrange(100, 10_000)
    for epoch in (1, 2, trial.random.randrange(10, 90)):
        compare(answer, trial, 24, 3, epoch, shuffle=True, seed=seed)


@shard_indices.property(
    "without shuffle, epoch and seed change nothing", asks=("The order of the epoch is 0 ... n - 1.",)
)
def epochs_in_order(answer: Answer, trial: Trial) -> None:
    compare(answer, trial, 12, 3, 5, seed=7)


@shard_indices.property(
    "with shuffle, what is dealt twice is the start of the permutation, what is dropped its end",
    asks=(
        "If world does not divide n, with drop_last the end of the order is dropped; without it the order is repeated from its start, as often as needed (n may be smaller than world).",
    ),
)
def shuffled_and_uneven(answer: Answer, trial: Trial) -> None:
    for drop_last in (False, True):
        for n, world in ((22, 5), (3, 7)):
            seed, epoch = trial.random.randrange(100, 10_000), trial.random.randrange(3, 90)
            compare(answer, trial, n, world, epoch, shuffle=True, drop_last=drop_last, seed=seed)


@shard_indices.property(
    "the order is yours: torch's DistributedSampler is what you write here", asks=("without calling it",)
)
def own_work(answer: Answer, trial: Trial) -> None:
    trial.given("shard_indices(7, 1, 3, 2, shuffle=True, drop_last=False)")
    with calls_to(DistributedSampler) as seen:
        answer(7, 1, 3, 2, shuffle=True, drop_last=False)
    trial.true(
        not seen,
        "The answer calls torch's DistributedSampler, which it re-creates.",
        expected="randperm and slices",
        got="DistributedSampler",
        observed="DistributedSampler",
    )


@shard_indices.property(
    "a million samples are dealt, too: the order is begun again as often as needed, and not once for each sample",
    once_right=True,
    asks=(
        "All ranks get equally many samples.",
        "The samples of `rank` in this epoch, as torch's DistributedSampler deals them, without calling it.",
    ),
)
def million(answer: Answer, trial: Trial) -> None:
    n, world = 1_000_000, 3
    trial.given(f"shard_indices({n:_}, 2, {world}, 0, shuffle=False, drop_last=False)")
    try:
        got = answer(n, world - 1, world, 0, shuffle=False, drop_last=False)
    except MemoryError:
        trial.fail(
            "The answer asked for more memory than there is. An order of a million samples is a list of 8 MB.",
            expected="the order once, and a part of it again",
            got="MemoryError",
            observed="MemoryError",
        )
    want = [*range(world - 1, n, world), 1]  # two places are left at the end: samples 0 and 1 once more
    trial.true(got == want, "The samples of rank 2 are not every third one.", observed="value")


@shard_indices.property(
    "and equal to torch's DistributedSampler for sixty more draws of all arguments",
    once_right=True,
    asks=(
        "The samples of `rank` in this epoch, as torch's DistributedSampler deals them, without calling it.",
    ),
)
def like_torch(answer: Answer, trial: Trial) -> None:
    draw = trial.random.randrange
    for _ in range(60):
        shuffle, drop_last = draw(2) == 1, draw(2) == 1
        n, world, epoch, seed = draw(1, 30), draw(1, 9), draw(6), draw(2000)
        compare(answer, trial, n, world, epoch, shuffle=shuffle, drop_last=drop_last, seed=seed)
