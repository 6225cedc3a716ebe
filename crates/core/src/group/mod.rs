//! Prioritized group mutual exclusion (Swaroop and Singh).
