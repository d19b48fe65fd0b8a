"""Compiled draws of batches without replacement, from random words."""

import numpy as np

from dpmcmc.kernels.compiling import compiled, words

# Of each byte of a word the lowest bit, the highest, and one bit of each that no other has.
LOWEST = np.uint64(0x0101010101010101)
HIGHEST = np.uint64(0x8080808080808080)
DIAGONAL = np.uint64(0x8040201008040201)
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
    used = num_words * CHANCE_BITS
    if used > random.shape[0]:
        return np.empty(0, np.bool_)
    one = np.uint64(1)
    rest = np.uint64(num_rows % 64)
    eights = np.empty(8 * num_words, np.uint64)  # of members, one a byte
    count = 0
    for k in range(num_words):
        bits = np.uint64(0)
        for digit in range(CHANCE_BITS):
            word = random[CHANCE_BITS * k + digit]
            bits = bits | word if (chance >> digit) & 1 else bits & word
        if chance == 2**CHANCE_BITS:
            bits = ~np.uint64(0)
        if k == num_words - 1 and rest:
            bits &= (one << rest) - one
        for e in range(8):
            # Eight copies of eight bits, of which each keeps one; then that is made the lowest.
            copies = ((bits >> np.uint64(8 * e)) & np.uint64(0xFF)) * LOWEST
            eights[8 * k + e] = (((copies & DIAGONAL) + ~HIGHEST) >> np.uint64(7)) & LOWEST
        # How many there are, by sums of two bits, of four and of eight, and then of the bytes.
        bits -= (bits >> one) & np.uint64(0x5555555555555555)
        twos = np.uint64(0x3333333333333333)
        bits = (bits & twos) + ((bits >> np.uint64(2)) & twos)
        bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        count += np.int64((bits * LOWEST) >> np.uint64(56))
    members = eights.view(np.bool_)[:num_rows]
    factor = np.uint64(num_rows)
    excess = np.uint64(2**32 % num_rows)
    low = np.uint64(2**32 - 1)
    is_put_in = count < wanted
    amiss = abs(wanted - count)
    while amiss:
        if used == random.shape[0]:
            return np.empty(0, np.bool_)
        word = random[used]
        used += 1
        for shift in (0, 32):
            product = ((word >> np.uint64(shift)) & low) * factor
            if (product & low) < excess or not amiss:
                continue
            index = product >> np.uint64(32)
            amiss -= members[index] != is_put_in
            members[index] = is_put_in
    return members
