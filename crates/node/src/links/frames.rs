//! Whole frames on a stream of bytes: four bytes of length, most significant first, then the frame.
//!
//! A length of 0 is a sign of life and nothing else. A length with the bit [`CONTROL`] is that of a frame that links send
//! on their own account (`control`). Where the transport cannot say why it closes, the length
//! [`GOODBYE`] announces the reason: one byte of length, then words.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::time::{Instant, Sleep, sleep};

use super::LONGEST_FRAME;

/// Announces a reason instead of a frame.
const GOODBYE: u32 = u32::MAX;

/// Marks the length of what links say on their own account.
const CONTROL: u32 = 1 << 30;

/// What is written at once, unless a single frame is longer.
pub(super) const BATCH: usize = 256 << 10;

/// What bytes come out of.
pub(super) type Source = Box<dyn AsyncRead + Send + Sync + Unpin>;

/// What bytes go into.
pub(super) type Sink = Box<dyn AsyncWrite + Send + Sync + Unpin>;

/// A frame, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame<'a> {
    /// Of the user of the link.
    User(&'a [u8]),
    /// Of the link itself.
    Control(&'a [u8]),
}

/// Why no frame follows.
#[derive(Debug)]
pub(super) enum ReadEnd {
    /// The other end wants to send a frame that is never accepted.
    TooLong(u32),
    /// The other end says why it closes.
    Goodbye(String),
    /// Nothing came for too long.
    Silent(Duration),
    /// The stream ended where a frame could begin.
    Finished,
    /// The transport knows more.
    Broken(io::Error),
}

/// Takes frames out of a stream.
pub(super) struct FrameReader {
    source: BufReader<Source>,
    frame: Vec<u8>,
    /// Where the transport itself does not watch whether something comes, and goodbyes are frames.
    watch: Option<Watch>,
}

impl FrameReader {
    pub(super) fn new(source: Source, watch: Option<Duration>) -> Self {
        let watch = watch.map(|limit| Watch { limit, alarm: None });
        Self { source: BufReader::new(source), frame: Vec::new(), watch }
    }

    /// The next frame. Not to be called again after an error, nor after it was dropped halfway.
    pub(super) async fn next(&mut self) -> Result<Frame<'_>, ReadEnd> {
        loop {
            let mut length = [0; 4];
            self.fill(&mut length, true).await?;
            match u32::from_be_bytes(length) {
                0 => {}
                GOODBYE if self.watch.is_some() => return Err(self.goodbye().await),
                length if (length & !CONTROL) as usize > LONGEST_FRAME => return Err(ReadEnd::TooLong(length)),
                length => {
                    let mut frame = std::mem::take(&mut self.frame);
                    frame.resize((length & !CONTROL) as usize, 0);
                    let filled = self.fill(&mut frame, false).await;
                    self.frame = frame;
                    filled?;
                    let kind = if length & CONTROL == 0 { Frame::User } else { Frame::Control };
                    return Ok(kind(&self.frame));
                }
            }
        }
    }

    /// Throws away what still comes, until the end.
    pub(super) async fn drain(&mut self) {
        let mut waste = [0; 4096];
        while matches!(self.source.read(&mut waste).await, Ok(count) if count > 0) {}
    }

    async fn goodbye(&mut self) -> ReadEnd {
        let mut length = [0];
        let mut words = [0; 255];
        let words = async {
            self.fill(&mut length, false).await?;
            let words = &mut words[..usize::from(length[0])];
            self.fill(words, false).await?;
            Ok(readable(words))
        };
        words.await.map_or_else(|end| end, ReadEnd::Goodbye)
    }

    /// Each read of its own must bring something in time, so that a long frame on a slow link is no silence.
    async fn fill(&mut self, mut into: &mut [u8], between_frames: bool) -> Result<(), ReadEnd> {
        let whole = into.len();
        while !into.is_empty() {
            let read = self.source.read(into);
            let count = match &mut self.watch {
                Some(watch) => watch.attend(read).await.ok_or(ReadEnd::Silent(watch.limit))?,
                None => read.await,
            };
            match count.map_err(ReadEnd::Broken)? {
                0 if between_frames && into.len() == whole => return Err(ReadEnd::Finished),
                0 => return Err(ReadEnd::Broken(io::ErrorKind::UnexpectedEof.into())),
                count => into = &mut into[count..],
            }
        }
        Ok(())
    }
}

/// How long nothing may come.
struct Watch {
    limit: Duration,
    /// Not set anew for each frame: it looks when it rings whether something came meanwhile.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl Watch {
    /// What comes of it, if that is within the limit.
    async fn attend<T>(&mut self, read: impl Future<Output = T>) -> Option<T> {
        let mut read = pin!(read);
        let mut since = None;
        poll_fn(|context| {
            if let Poll::Ready(value) = read.as_mut().poll(context) {
                return Poll::Ready(Some(value));
            }
            let end = *since.get_or_insert_with(Instant::now) + self.limit;
            let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep(self.limit)));
            while alarm.as_mut().poll(context).is_ready() {
                if Instant::now() >= end {
                    return Poll::Ready(None);
                }
                alarm.as_mut().reset(end);
            }
            Poll::Pending
        })
        .await
    }
}

/// Puts frames into a stream.
pub(super) struct FrameWriter {
    sink: Sink,
    batch: Vec<u8>,
    /// A write was begun and not finished: nothing sensible can follow.
    halfway: bool,
}

impl FrameWriter {
    pub(super) fn new(sink: Sink) -> Self {
        Self { sink, batch: Vec::new(), halfway: false }
    }

    /// Adds a frame to what is written next. The error says what is wrong with it.
    pub(super) fn add(&mut self, frame: Frame<'_>) -> Result<(), String> {
        let (frame, mark) = match frame {
            Frame::User(frame) => (frame, 0),
            Frame::Control(frame) => (frame, CONTROL),
        };
        let length = u32::try_from(frame.len()).ok().filter(|length| *length as usize <= LONGEST_FRAME);
        let Some(length) = length else {
            return Err(format!("a frame of {} bytes to send, but {LONGEST_FRAME} is the limit", frame.len()));
        };
        self.batch.extend_from_slice(&(length | mark).to_be_bytes());
        self.batch.extend_from_slice(frame);
        Ok(())
    }

    /// How much waits to be written.
    pub(super) fn waiting(&self) -> usize {
        self.batch.len()
    }

    /// Writes what was added, at once.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        self.halfway = true;
        self.sink.write_all(&self.batch).await?;
        self.sink.flush().await?;
        self.halfway = false;
        self.batch.clear();
        Ok(())
    }

    /// Whether something can still follow.
    pub(super) fn is_whole(&self) -> bool {
        !self.halfway
    }

    /// Says why the stream ends, if that can still be said.
    pub(super) async fn goodbye(&mut self, reason: &str) -> io::Result<()> {
        if self.halfway {
            return Ok(());
        }
        let words = shortened(reason, 255).as_bytes();
        self.batch.clear();
        self.batch.extend_from_slice(&GOODBYE.to_be_bytes());
        self.batch.push(words.len() as u8);
        self.batch.extend_from_slice(words);
        self.flush().await
    }

    /// Ends the stream in this direction.
    pub(super) async fn finish(&mut self) -> io::Result<()> {
        self.sink.shutdown().await
    }
}

/// Words of the other end, safe for a log.
pub(super) fn readable(words: &[u8]) -> String {
    let words = String::from_utf8_lossy(words);
    words.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(255).collect()
}

/// The longest beginning of the words that fits.
pub(super) fn shortened(words: &str, most: usize) -> &str {
    let mut end = words.len().min(most);
    while !words.is_char_boundary(end) {
        end -= 1;
    }
    &words[..end]
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;

    async fn read_all(bytes: &'static [u8], watch: Option<Duration>) -> (Vec<Vec<u8>>, ReadEnd) {
        let mut reader = FrameReader::new(Box::new(bytes), watch);
        let mut frames = Vec::new();
        loop {
            match reader.next().await {
                Ok(Frame::User(frame)) => frames.push(frame.to_vec()),
                Ok(Frame::Control(frame)) => frames.push([b"control ", frame].concat()),
                Err(end) => return (frames, end),
            }
        }
    }

    #[tokio::test]
    async fn frames_come_whole_and_signs_of_life_do_not_count() {
        let (frames, end) = read_all(b"\0\0\0\x02ab\0\0\0\0\0\0\0\x01c", None).await;
        assert_eq!(frames, [b"ab".to_vec(), b"c".to_vec()]);
        assert!(matches!(end, ReadEnd::Finished));
    }

    #[tokio::test]
    async fn what_links_say_themselves_is_told_from_what_their_users_say() {
        let (frames, _) = read_all(b"\0\0\0\x01a\x40\0\0\x01a", None).await;
        assert_eq!(frames, [b"a".to_vec(), b"control a".to_vec()]);
        assert!(matches!(read_all(b"\x40\x10\0\x01", None).await.1, ReadEnd::TooLong(_)), "one byte above the limit");
    }

    #[tokio::test]
    async fn a_stream_that_ends_inside_a_frame_is_broken() {
        assert!(matches!(read_all(b"\0\0\0\x02a", None).await.1, ReadEnd::Broken(_)));
        assert!(matches!(read_all(b"\0\0", None).await.1, ReadEnd::Broken(_)));
    }

    #[tokio::test]
    async fn a_length_that_nobody_accepts_is_refused_before_it_is_believed() {
        assert!(matches!(read_all(b"\x7f\0\0\0", None).await.1, ReadEnd::TooLong(0x7f00_0000)));
        assert!(matches!(read_all(b"\xff\xff\xff\xff\x02no", None).await.1, ReadEnd::TooLong(u32::MAX)));
    }

    #[tokio::test]
    async fn a_goodbye_is_heard_where_it_is_in_use() {
        let watch = Some(Duration::from_secs(60));
        let (_, end) = read_all(b"\xff\xff\xff\xff\x03n\no", watch).await;
        assert!(matches!(end, ReadEnd::Goodbye(words) if words == "n o"));
    }

    #[tokio::test]
    async fn silence_is_counted_from_the_last_bytes() {
        let limit = Duration::from_millis(200);
        let (mut there, here) = tokio::io::duplex(64);
        let mut reader = FrameReader::new(Box::new(here), Some(limit));
        {
            let mut first = pin!(reader.next()); // the alarm is set now
            assert!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            sleep(limit / 2).await;
            there.write_all(b"\0\0\0\x01a").await.unwrap();
            assert_eq!(first.await.unwrap(), Frame::User(b"a"));
        }
        let began = Instant::now();
        assert!(matches!(reader.next().await, Err(ReadEnd::Silent(told)) if told == limit));
        assert!(began.elapsed() >= limit, "{:?}", began.elapsed());
    }

    #[test]
    fn words_are_cut_between_letters() {
        assert_eq!(shortened("aä", 2), "a");
        assert_eq!(shortened("aä", 9), "aä");
    }
}
