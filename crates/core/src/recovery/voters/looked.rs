//! Counts, in tests, how many words and nodes are looked at: what an event costs in a large mesh.

#[cfg(test)]
extern crate std;

#[cfg(test)]
std::thread_local! {
    static COUNT: core::cell::Cell<u64> = const { core::cell::Cell::new(0) };
}

/// One more was looked at.
#[cfg(test)]
pub(super) fn note() {
    COUNT.set(COUNT.get() + 1);
}

/// One more was looked at.
#[cfg(not(test))]
pub(super) const fn note() {}

/// How many were looked at since this was asked last, by this thread.
#[cfg(test)]
pub(super) fn take() -> u64 {
    COUNT.take()
}
