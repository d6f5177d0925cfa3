//! Memory that the columns of one batch are decoded into.
//!
//! ```text
//! region   ├ column 0 ┤ column 1 ┤ column 2 … ┤ free ┤     where it has several: 2 MiB aligned, huge pages asked for
//! ```
//!
//! A batch of some megabytes made of fresh 4 KiB pages spends more time in page faults than in decoding
//! (on the development machine half of a scan). So its columns of fixed width and of large values share one region, of huge pages if it has
//! several, handed out from front to back, and a region whose columns are all dropped serves a later batch. What keeps one column of a batch
//! keeps the memory of the batch.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use arrow_buffer::Buffer;
use memmap2::MmapMut;

const HUGE_PAGE: usize = 2 << 20;
/// Batches smaller than this are not worth a region of their own.
const LEAST_BYTES: usize = HUGE_PAGE / 2;
/// Nor are batches larger than this mapped at once.
const MOST_BYTES: usize = usize::MAX / 4;
/// Regions of batches smaller than this do without huge pages, which would be half empty; they are fast by being used again.
const LEAST_HUGE: usize = 2 * HUGE_PAGE;
/// Sizes of those are multiples of this.
const SMALL_STEP: usize = 256 << 10;
/// Pieces smaller than this come from the ordinary allocator.
const LEAST_PIECE: usize = 1 << 10;
/// Cache lines, and more than any type's alignment.
const PIECE_ALIGN: usize = 64;
/// Bytes of regions that wait for a later batch, all threads together.
const MAX_WAITING: usize = 256 << 20;
/// Bytes of vectors for strings that a thread keeps for its next batch.
const MAX_SPARE: usize = 16 << 20;

/// Regions that nobody uses. Tried for a while, never waited for: a fork may leave it locked.
static WAITING: Mutex<Vec<MmapMut>> = Mutex::new(Vec::new());

thread_local! {
    /// Vectors that strings were decoded into before they were copied to a region, emptied.
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Memory that pieces were handed out of; goes back when the last of them is dropped.
struct Region(Option<MmapMut>);

impl Drop for Region {
    fn drop(&mut self) {
        let Some(map) = self.0.take() else { return };
        // SAFETY: nobody reads the mapping before writing to it again, so that the system may take its pages
        // whenever it is short of memory costs nothing but their contents.
        #[cfg(target_os = "linux")]
        let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::Free) };
        // Those that wait the longest make room: what was used last is what is asked for next.
        if map.len() > MAX_WAITING {
            return;
        }
        let gone = with_waiting(|waiting| {
            let mut bytes: usize = waiting.iter().map(|m| m.len()).sum();
            let mut over = 0;
            while over < waiting.len() && bytes + map.len() > MAX_WAITING {
                bytes -= waiting[over].len();
                over += 1;
            }
            let gone: Vec<MmapMut> = waiting.drain(..over).collect();
            waiting.push(map);
            gone
        });
        // Not while the lock is held: to unmap takes its time.
        drop(gone);
    }
}

/// Looks at the regions that wait. The lock is held for a few instructions only; where it cannot be had in a
/// while, as after a fork that copied it locked, things go on without.
fn with_waiting<R>(look: impl FnOnce(&mut Vec<MmapMut>) -> R) -> Option<R> {
    for _ in 0..1000 {
        if let Ok(mut waiting) = WAITING.try_lock() {
            return Some(look(&mut waiting));
        }
        std::hint::spin_loop();
    }
    None
}

/// Hands out memory for one batch. Clones hand out the same memory.
#[derive(Clone, Default)]
pub(crate) struct Arena(Option<Rc<RefCell<Free>>>);

struct Free {
    region: Arc<Region>,
    next: NonNull<u8>,
    left: usize,
}

impl Arena {
    /// For a batch of about `bytes`; a batch too small for it, or one that cannot be mapped, gets its
    /// memory from the ordinary allocator.
    pub(crate) fn new(bytes: usize) -> Self {
        // Nobody has more, and sums of it do not overflow.
        if !(LEAST_BYTES..=MOST_BYTES).contains(&bytes) {
            return Self::default();
        }
        // Room for the padding of pieces, and for the alignment of the start.
        let size = bytes + bytes / 16;
        let is_huge = bytes >= LEAST_HUGE;
        let (size, align) = if is_huge {
            (size.next_multiple_of(HUGE_PAGE) + HUGE_PAGE, HUGE_PAGE)
        } else {
            (size.next_multiple_of(SMALL_STEP), PIECE_ALIGN)
        };
        let Some(mut map) = waiting(size).or_else(|| fresh(size, is_huge)) else { return Self::default() };
        let start = map.as_mut_ptr();
        let skip = start.addr().next_multiple_of(align) - start.addr();
        let left = map.len() - skip;
        let next = NonNull::from(&mut map[skip..]).cast();
        Self(Some(Rc::new(RefCell::new(Free { region: Arc::new(Region(Some(map))), next, left }))))
    }

    /// An empty vector to decode strings into, with memory from an earlier batch if there is any.
    pub(crate) fn vector(&self) -> Vec<u8> {
        if self.0.is_none() {
            return Vec::new();
        }
        SPARE.with_borrow_mut(Vec::pop).unwrap_or_default()
    }

    /// Takes back a vector whose bytes were copied.
    pub(crate) fn give_vector(&self, mut vector: Vec<u8>) {
        vector.clear();
        SPARE.with_borrow_mut(|spare| {
            let held: usize = spare.iter().map(Vec::capacity).sum();
            if held + vector.capacity() <= MAX_SPARE {
                spare.push(vector);
            }
        });
    }

    /// A copy of `bytes`, if there is room for it.
    pub(crate) fn copy(&self, bytes: &[u8]) -> Option<Buffer> {
        let mut piece = self.piece(bytes.len())?;
        piece.extend(bytes);
        Some(Buffer::from(bytes::Bytes::from_owner(piece)))
    }

    /// An empty piece with room for `capacity` bytes, if there is that much.
    pub(super) fn piece(&self, capacity: usize) -> Option<Piece> {
        if capacity < LEAST_PIECE {
            return None;
        }
        let free = &mut *self.0.as_ref()?.borrow_mut();
        let capacity = capacity.checked_next_multiple_of(PIECE_ALIGN)?;
        free.left = free.left.checked_sub(capacity)?;
        let start = free.next;
        // SAFETY: `capacity` bytes from `next` on are inside the region, as `left` was at least that.
        free.next = unsafe { start.add(capacity) };
        Some(Piece { start, len: 0, capacity, region: free.region.clone() })
    }

    /// An empty piece with room for `capacity` bytes, or for as many as there is room for.
    pub(super) fn piece_up_to(&self, capacity: usize) -> Option<Piece> {
        let left = self.0.as_ref()?.borrow().left;
        self.piece(capacity.min(left / PIECE_ALIGN * PIECE_ALIGN))
    }

    /// The bytes of a piece that is done. What it has not used goes to the next piece, if none came after it.
    pub(super) fn keep(&self, mut piece: Piece) -> Buffer {
        if let Some(free) = &self.0 {
            let free = &mut *free.borrow_mut();
            let used = piece.len.next_multiple_of(PIECE_ALIGN);
            let is_last = Arc::ptr_eq(&piece.region, &free.region)
                && piece.start.addr().get() + piece.capacity == free.next.addr().get();
            if is_last && used <= piece.capacity {
                free.left += piece.capacity - used;
                // SAFETY: `used` is at most the capacity, all of which is inside this region.
                free.next = unsafe { piece.start.add(used) };
                piece.capacity = used;
            }
        }
        Buffer::from(bytes::Bytes::from_owner(piece))
    }
}

impl std::fmt::Debug for Arena {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Arena").field(&self.0.as_ref().map_or(0, |free| free.borrow().left)).finish()
    }
}

/// A region that waits, if one is large enough and not far too large; the one that caches are likeliest to have.
fn waiting(size: usize) -> Option<MmapMut> {
    with_waiting(|waiting| {
        let at = waiting.iter().rposition(|m| m.len() >= size && m.len() / 2 <= size)?;
        Some(waiting.remove(at))
    })?
}

fn fresh(size: usize, is_huge: bool) -> Option<MmapMut> {
    let map = MmapMut::map_anon(size).ok()?;
    // Where huge pages are not to be had, small ones do.
    #[cfg(target_os = "linux")]
    if is_huge {
        let _ = map.advise(memmap2::Advice::HugePage);
    }
    Some(map)
}

/// Bytes of a region that nobody else has, and how many of them are in use.
pub(crate) struct Piece {
    start: NonNull<u8>,
    len: usize,
    capacity: usize,
    region: Arc<Region>,
}

// SAFETY: a piece is the only way to its bytes, which the region keeps mapped while the piece lives; the
// region itself is only dropped, by whichever thread drops the last piece.
unsafe impl Send for Piece {}
// SAFETY: as above; through a shared piece bytes are only read.
unsafe impl Sync for Piece {}

impl Piece {
    /// Bytes that it may grow by.
    pub(super) fn room(&self) -> usize {
        self.capacity - self.len
    }

    /// Sets the length to at most the capacity; bytes that come in are zeroed. Says false, with nothing
    /// done, for more.
    pub(super) fn resize(&mut self, len: usize) -> bool {
        if len > self.capacity {
            return false;
        }
        let old = std::mem::replace(&mut self.len, len);
        if len > old {
            self[old..].fill(0);
        }
        true
    }

    /// The same for who overwrites all bytes that come in: until then they are whatever a former batch left.
    pub(super) fn resize_unset(&mut self, len: usize) -> bool {
        if len > self.capacity {
            return false;
        }
        self.len = len;
        true
    }

    /// Appends bytes if they fit; says false, with nothing done, if not.
    pub(super) fn extend(&mut self, bytes: &[u8]) -> bool {
        let old = self.len;
        if bytes.len() > self.capacity - old {
            return false;
        }
        self.len += bytes.len();
        self[old..].copy_from_slice(bytes);
        true
    }
}

impl Deref for Piece {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `len` bytes from `start` on are inside the region and belong to this piece alone. They
        // are initialised: an anonymous mapping is zeroed, and what a former batch left is bytes as well.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Piece {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`; the exclusive borrow of the piece is one of its bytes.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl std::fmt::Debug for Piece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Piece")
            .field("len", &self.len)
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_do_not_overlap_and_outlive_their_arena() {
        let arena = Arena::new(LEAST_BYTES);
        let mut pieces: Vec<Piece> = (0..8).map(|_| arena.piece(100_000).expect("there is room")).collect();
        for (i, piece) in pieces.iter_mut().enumerate() {
            assert!(piece.resize(100_000) && piece.iter().all(|b| *b == 0));
            piece.fill(i as u8 + 1);
            assert_eq!(piece.as_ptr().addr() % PIECE_ALIGN, 0);
        }
        drop(arena);
        for (i, piece) in pieces.iter().enumerate() {
            assert!(piece.iter().all(|b| *b == i as u8 + 1));
        }
        let mut last = pieces.pop().expect("eight were made");
        assert!(!last.extend(&[0; 200]) && last.extend(&[9; 20]));
        assert_eq!(last[100_000..], [9; 20]);
    }

    #[test]
    fn what_a_piece_of_another_arena_did_not_use_is_not_given_back() {
        let (arena, other) = (Arena::new(LEAST_BYTES), Arena::new(LEAST_BYTES));
        let left = |arena: &Arena| arena.0.as_ref().map_or(0, |free| free.borrow().left);
        let before = left(&arena);
        let piece = other.piece(1 << 20).expect("there is room");
        assert_eq!(arena.keep(piece).len(), 0);
        assert_eq!(left(&arena), before);
        let piece = arena.piece(1 << 20).expect("there is room");
        assert_eq!(arena.keep(piece).len(), 0);
        assert_eq!(left(&arena), before);
    }

    #[test]
    fn small_batches_small_pieces_and_full_regions_are_left_to_the_allocator() {
        assert!(Arena::new(LEAST_BYTES - 1).piece(LEAST_PIECE).is_none());
        let arena = Arena::new(LEAST_BYTES);
        assert!(arena.piece(LEAST_PIECE - 1).is_none());
        assert!(arena.piece(64 << 20).is_none() && arena.piece(usize::MAX).is_none());
        assert!(arena.piece(1 << 20).is_some());
    }

    #[test]
    fn what_a_former_batch_left_is_zeroed_before_it_is_seen() {
        for _ in 0..4 {
            let mut piece = Arena::new(LEAST_BYTES).piece(1 << 20).expect("there is room");
            assert!(piece.resize(1 << 20) && piece.iter().all(|b| *b == 0));
            piece.fill(7);
        }
    }
}
