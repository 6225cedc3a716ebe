//! One block of ChaCha with eight rounds: D. J. Bernstein, "ChaCha, a variant of Salsa20", 2008.

/// Numbers of 64 bits in a block.
pub(super) const NUMBERS: u64 = 8;

pub(super) type Block = [u64; NUMBERS as usize];

type Row = [u32; 4];

/// "expand 32-byte k" in words.
const CONSTANTS: Row = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

const DOUBLE_ROUNDS: usize = 4;

/// The block of this number in a stream, of the key that begins with the seed and is zero otherwise.
pub(super) fn block(seed: u64, stream: u64, number: u64) -> Block {
    let start =
        [CONSTANTS, [low(seed), high(seed), 0, 0], [0; 4], [low(number), high(number), low(stream), high(stream)]];
    let mut rows = start;
    for _ in 0..DOUBLE_ROUNDS {
        round(&mut rows);
        turn(&mut rows, [1, 2, 3]);
        round(&mut rows);
        turn(&mut rows, [3, 2, 1]);
    }
    std::array::from_fn(|place| {
        let word = |at: usize| rows[at / 4][at % 4].wrapping_add(start[at / 4][at % 4]);
        u64::from(word(2 * place)) | u64::from(word(2 * place + 1)) << 32
    })
}

/// Four quarter rounds at once, one for each column.
fn round([a, b, c, d]: &mut [Row; 4]) {
    step(a, b, d, 16);
    step(c, d, b, 12);
    step(a, b, d, 8);
    step(c, d, b, 7);
}

fn step(sum: &mut Row, other: &Row, mixed: &mut Row, bits: u32) {
    for at in 0..4 {
        sum[at] = sum[at].wrapping_add(other[at]);
        mixed[at] = (mixed[at] ^ sum[at]).rotate_left(bits);
    }
}

/// Turns the rows below the first, so that diagonals become columns, or back.
fn turn([_, b, c, d]: &mut [Row; 4], by: [usize; 3]) {
    for (row, by) in [b, c, d].into_iter().zip(by) {
        *row = std::array::from_fn(|at| row[(at + by) % 4]);
    }
}

const fn low(number: u64) -> u32 {
    number as u32
}

const fn high(number: u64) -> u32 {
    (number >> 32) as u32
}
