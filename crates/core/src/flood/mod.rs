//! Suzuki-Kasami by flooding (the PSAR report).
