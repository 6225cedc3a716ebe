//! Damage to bytes.

use meshlock_node::wire::{self, Frame};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;

/// One change of a frame.
#[derive(Clone, Debug)]
pub(crate) enum Mutation {
    /// Another bit.
    Flip(Index, u8),
    /// Another byte.
    Set(Index, u8),
    /// A little more or less.
    Add(Index, i8),
    /// Something instead of a byte.
    Replace(Index, Vec<u8>),
    /// Something between bytes.
    Insert(Index, Vec<u8>),
    /// Fewer bytes.
    Remove(Index, usize),
    /// Nothing after this.
    Cut(Index),
    /// The beginning of this and the end of another.
    Splice(Index, Index),
}

/// Any change.
pub(crate) fn mutation() -> impl Strategy<Value = Mutation> {
    let at = any::<Index>;
    prop_oneof![
        1 => (at(), 0_u8..8).prop_map(|(at, bit)| Mutation::Flip(at, bit)),
        1 => (at(), any::<u8>()).prop_map(|(at, byte)| Mutation::Set(at, byte)),
        1 => (at(), -2_i8..=2).prop_map(|(at, step)| Mutation::Add(at, step)),
        3 => (at(), extreme()).prop_map(|(at, bytes)| Mutation::Replace(at, bytes)),
        1 => (at(), prop_oneof![extreme(), vec(any::<u8>(), 1..4)]).prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        1 => (at(), 1_usize..4).prop_map(|(at, count)| Mutation::Remove(at, count)),
        1 => at().prop_map(Mutation::Cut),
        1 => (at(), at()).prop_map(|(here, there)| Mutation::Splice(here, there)),
    ]
}

/// Numbers at the ends of their types, as they are written on the wire.
fn extreme() -> impl Strategy<Value = Vec<u8>> {
    let numbers = [
        vec![0xff, 0xff, 0x03],                                           // u16
        vec![0xff, 0xff, 0xff, 0xff, 0x0f],                               // u32, i32 least
        vec![0xfe, 0xff, 0xff, 0xff, 0x0f],                               // the one before, i32 most
        vec![0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], // u64, i64 least
        vec![0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], // the one before, i64 most
        vec![0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80], // a number without end
        vec![0x80, 0x80, 0x80, 0x80, 0x08],                               // 2^31
    ];
    select(numbers.to_vec())
}

/// Nonsense, mostly of the right version.
pub(crate) fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let right = vec(any::<u8>(), 0..80).prop_map(|mut bytes| {
        bytes.insert(0, wire::VERSION);
        bytes
    });
    prop_oneof![1 => vec(any::<u8>(), 0..80), 3 => right]
}

/// Numbers at the ends of their types and around those of the nodes, for a number in a frame.
pub(crate) fn number() -> impl Strategy<Value = Value> {
    let signed = [i64::MIN, i64::from(i32::MIN), -1, i64::MAX].map(Value::from);
    let unsigned = [0, 1, 2, 3, u64::from(u16::MAX), u64::from(u32::MAX), u64::MAX].map(Value::from);
    select([signed.to_vec(), unsigned.to_vec()].concat())
}

/// A whole frame in which one number is another: what a member that lies would send.
pub(crate) fn lie(frame: &[u8], at: &Index, number: &Value) -> Vec<u8> {
    let honest = || wire::decode::<Frame>(frame).ok();
    let changed = honest().and_then(|frame| serde_json::to_value(frame).ok()).and_then(|mut tree| {
        let count = tree_numbers(&mut tree).len();
        let place = (count > 0).then(|| at.index(count))?;
        **tree_numbers(&mut tree).get_mut(place)? = number.clone();
        serde_json::from_value::<Frame>(tree).ok()
    });
    changed.map_or_else(|| frame.to_vec(), |frame| wire::encode(&frame).to_vec())
}

fn tree_numbers(tree: &mut Value) -> Vec<&mut Value> {
    match tree {
        Value::Number(_) => vec![tree],
        Value::Array(parts) => parts.iter_mut().flat_map(tree_numbers).collect(),
        Value::Object(parts) => parts.values_mut().flat_map(tree_numbers).collect(),
        Value::Null | Value::Bool(_) | Value::String(_) => Vec::new(),
    }
}

/// A frame with changes.
pub(crate) fn mutated(mut frame: Vec<u8>, other: &[u8], mutations: &[Mutation]) -> Vec<u8> {
    for mutation in mutations {
        if frame.is_empty() {
            break;
        }
        let place = |at: &Index| at.index(frame.len());
        match mutation {
            Mutation::Flip(at, bit) => {
                let at = place(at);
                frame[at] ^= 1 << bit;
            }
            Mutation::Set(at, byte) => {
                let at = place(at);
                frame[at] = *byte;
            }
            Mutation::Add(at, step) => {
                let at = place(at);
                frame[at] = frame[at].wrapping_add_signed(*step);
            }
            Mutation::Replace(at, bytes) => {
                let at = place(at);
                frame.splice(at..=at, bytes.iter().copied());
            }
            Mutation::Insert(at, bytes) => {
                let at = place(at);
                frame.splice(at..at, bytes.iter().copied());
            }
            Mutation::Remove(at, count) => {
                let at = place(at);
                frame.drain(at..(at + count).min(frame.len()));
            }
            Mutation::Cut(at) => frame.truncate(place(at)),
            Mutation::Splice(here, there) => {
                frame.truncate(place(here));
                if !other.is_empty() {
                    frame.extend_from_slice(&other[there.index(other.len())..]);
                }
            }
        }
    }
    frame
}
