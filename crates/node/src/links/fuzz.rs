//! Doors for tests that throw arbitrary bytes at what strangers can reach. Not for other use.

use std::io::Cursor;
use std::time::Duration;

use super::Hello;
use super::beacon::Beacons;
use super::frames::{Frame, FrameReader, ReadEnd};
use crate::mesh::Member;

/// Reads a hello under the certificate of a member.
pub fn hello(frame: &[u8], member: Member) -> Result<Hello, String> {
    super::hello::read(frame, member).map_err(|error| format!("{error:?}"))
}

/// Reads a beacon.
pub fn beacon(secret: &[u8; 32], bytes: &[u8]) -> Option<(Member, u16)> {
    Beacons::new(secret).ok()?.open(bytes)
}

/// Makes a beacon.
pub fn seal(secret: &[u8; 32], member: Member, port: u16) -> Option<Vec<u8>> {
    Some(Beacons::new(secret).ok()?.seal(member, port).ok()?.to_vec())
}

/// A frame as it stands in a stream.
pub fn framed(frame: Vec<u8>) -> Vec<u8> {
    let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], &frame].concat()
}

/// The frames in a stream that ends, and why there are no more.
pub fn frames(stream: Vec<u8>, watched: bool) -> Result<(Vec<Vec<u8>>, String), std::io::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let watch = watched.then_some(Duration::from_secs(60));
    let mut reader = FrameReader::new(Box::new(Cursor::new(stream)), watch);
    Ok(runtime.block_on(async {
        let mut frames = Vec::new();
        loop {
            match reader.next().await {
                Ok(Frame::User(frame) | Frame::Control(frame)) => frames.push(frame.to_vec()),
                Err(ReadEnd::Goodbye(words)) => return (frames, format!("goodbye: {words}")),
                Err(end) => return (frames, format!("{end:?}")),
            }
        }
    }))
}
