//! Any-to-any messages over neighbour links.
