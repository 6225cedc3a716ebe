//! Stories of Suzuki-Kasami by flooding: each defect of the printed text, and the same schedule repaired.

mod story;
