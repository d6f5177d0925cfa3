//! A small generator whose seeds print and replay (splitmix64).

/// Odd constant of splitmix64: the step between states.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.word() % n as u64) as usize }
    }

    /// In `low..=high`.
    pub fn within(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True `of` times in `out_of`.
    pub fn chance(&mut self, of: usize, out_of: usize) -> bool {
        self.below(out_of) < of
    }

    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// The seeds of a run of `cases` cases: from `PENNON_SEED` if set (`random`, or the number that a
/// failure printed, which is then the first case), else always the same.
pub fn seeds(name: &str, cases: usize) -> impl Iterator<Item = u64> {
    let first = match std::env::var("PENNON_SEED").ok().as_deref() {
        Some("random") => std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(1, |d| d.as_nanos() as u64),
        Some(text) => text.parse().expect("PENNON_SEED is a number or `random`"),
        None => {
            name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
        }
    };
    // Rng states are STEP apart, so the seeds need another stride to stay unrelated.
    (0..scaled(cases) as u64).map(move |i| first.wrapping_add(i.wrapping_mul(0x2545_f491_4f6c_dd1d)))
}

/// `cases`, or another number of them if `PENNON_CASES` says so (in percent).
pub fn scaled(cases: usize) -> usize {
    match std::env::var("PENNON_CASES").ok().and_then(|t| t.parse::<usize>().ok()) {
        Some(percent) => (cases * percent / 100).max(1),
        None => cases,
    }
}
