//! What is read, what is refused, and in which words.

mod mistakes;
mod reading;
