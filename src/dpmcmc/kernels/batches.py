"""Compiled draws of batches without replacement, from random words."""

import numpy as np

from dpmcmc.kernels.compiling import compiled, words

CHANCE_BITS = 8  # binary digits of the chance with which a row comes into a mask at first


@compiled("int64[::1]", words, int, int)
def distinct_indices(random, num_rows, wanted):
    """The first `wanted` different indices of a sequence of uniform ones.

    Each word makes two indices, by multiplication, without bias (Lemire 2019).

    Parameters
    ----------
    random : (k,) array of uint64
        Random words.
    num_rows : int
        Indices are below this; at most 2^32.
    wanted : int

    Returns
    -------
    (wanted,) array of int
        Empty if the words do not suffice.
    """
    seen = np.zeros(num_rows // 64 + 1, np.uint64)  # one bit an index
    found = np.empty(wanted, np.int64)
    count = 0
    factor = np.uint64(num_rows)
    excess = np.uint64(2**32 % num_rows)
    low = np.uint64(2**32 - 1)
    one = np.uint64(1)
    for word in random:
        for shift in (0, 32):
            product = ((word >> np.uint64(shift)) & low) * factor
            if (product & low) < excess or count == wanted:
                continue
            index = product >> np.uint64(32)
            place, bit = index >> np.uint64(6), one << (index & np.uint64(63))
            found[count] = np.int64(index)
            count += (seen[place] & bit) == 0
            seen[place] |= bit
        if count == wanted:
            return found
    return np.empty(0, np.int64)


@compiled("boolean[::1]", words, int, int)
def random_mask(random, num_rows, wanted):
    """Mask of `wanted` rows, uniform over all masks of so many.

    At first each row is in with the same chance, near wanted / n, independently. Given how many
    are in, all sets of so many rows are equally likely, and stay so while rows drawn uniformly
    are put in, or taken out, until they are as many as wanted. So the chance need not be exact,
    and a few words make 64 rows of it: where w is a random bit and r one with chance x, w & r has
    chance x / 2 and w | r has (1 + x) / 2, digit by binary digit of the chance from its last.

    Parameters
    ----------
    random : (k,) array of uint64
        Random words.
    num_rows : int
        At most 2^32.
    wanted : int

    Returns
    -------
    (num_rows,) array of bool
        Empty if the words do not suffice.
    """
    # Rounded away from one half: then rows are put in, or taken out, among those that are more
    # numerous, where few draws miss.
    chance = wanted * 2**CHANCE_BITS // num_rows
    if 2 * wanted > num_rows:
        chance = 2**CHANCE_BITS - (num_rows - wanted) * 2**CHANCE_BITS // num_rows
    num_words = (num_rows + 63) // 64
    if num_words * CHANCE_BITS > random.shape[0]:
        return np.empty(0, np.bool_)
    one = np.uint64(1)
    members = np.empty(num_rows, np.bool_)
    count = 0
    used = 0
    for k in range(num_words):
        bits = np.uint64(0)
        for digit in range(CHANCE_BITS):
            if (chance >> digit) & 1:
                bits |= random[used]
            else:
                bits &= random[used]
            used += 1
        if chance == 2**CHANCE_BITS:
            bits = ~np.uint64(0)
        first = 64 * k
        size = min(64, num_rows - first)
        for i in range(size):
            is_in = (bits >> np.uint64(i)) & one != 0
            members[first + i] = is_in
            count += is_in
    factor = np.uint64(num_rows)
    excess = np.uint64(2**32 % num_rows)
    low = np.uint64(2**32 - 1)
    while count != wanted:
        if used == random.shape[0]:
            return np.empty(0, np.bool_)
        word = random[used]
        used += 1
        for shift in (0, 32):
            product = ((word >> np.uint64(shift)) & low) * factor
            if (product & low) < excess or count == wanted:
                continue
            index = product >> np.uint64(32)
            if members[index] and count > wanted:
                members[index] = False
                count -= 1
            elif not members[index] and count < wanted:
                members[index] = True
                count += 1
    return members
