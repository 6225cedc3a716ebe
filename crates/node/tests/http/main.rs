//! The interface for clients, over real sockets.

mod client;
mod document;
mod hostile;
mod operators;
mod random;
mod requests;
mod resources;
mod sockets;
mod stream;
mod tcp;
mod waiting;
