//! What happens at the node, as it happens.

#[cfg(feature = "embedded")]
use std::collections::VecDeque;

use meshlock_api::Event;

use crate::backend::Backend;
use crate::client::Client;
use crate::error::Error;
use crate::http::Stream;

/// Events from some moment on. A gap in their numbers means that the reader was too slow and missed some.
#[derive(Debug)]
pub struct Events {
    source: Source,
    only: Option<String>,
}

#[derive(Debug)]
enum Source {
    Http(Box<Stream>),
    #[cfg(feature = "embedded")]
    Hub(meshlock_node::hub::EventStream, VecDeque<Event>),
}

impl Events {
    pub(crate) async fn open(client: &Client, only: Option<&str>) -> Result<Self, Error> {
        let source = match &client.shared.backend {
            Backend::Http(http) => Source::Http(Box::new(http.events(only).await?)),
            #[cfg(feature = "embedded")]
            Backend::Hub(hub) => Source::Hub(hub.events(), VecDeque::new()),
        };
        Ok(Self { source, only: only.map(str::to_owned) })
    }

    /// The next event; `None` when the node has ended.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            let event: Option<Event> = match &mut self.source {
                Source::Http(stream) => stream.next().await?,
                #[cfg(feature = "embedded")]
                Source::Hub(stream, waiting) => {
                    if waiting.is_empty() {
                        waiting.extend(stream.next().await);
                    }
                    waiting.pop_front()
                }
            };
            let Some(event) = event else { return Ok(None) };
            if self.only.as_deref().is_none_or(|name| event.what.resource() == Some(name)) {
                return Ok(Some(event));
            }
        }
    }
}
