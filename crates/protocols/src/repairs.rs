//! Sets of repaired defects, so that each defect of a printed text can be shown with the others out of the way.
//!
//! A defect often hides behind another, so every `published` protocol asks `repairs.has(Defect::..)` at the faulty
//! line. It lists its own defects with `defects!`; the numbers and names are those of `docs/errata.md`.
//!
//! Where a text can be read in two ways, the other readings are such a list too.

use std::fmt;
use std::marker::PhantomData;
use std::vec::Vec;

/// A defect of a printed text that can be repaired by itself. `defects!` implements it.
pub trait Defect: Copy + fmt::Debug + 'static {
    /// All of them, in the order of their numbers. At most 16.
    const ALL: &'static [Self];

    /// Its name: `p1`, `g3`, `f7`.
    fn name(self) -> &'static str;

    fn place(self) -> u8;

    /// The defect of this name, whatever the case.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|defect| defect.name().eq_ignore_ascii_case(name))
    }
}

/// Makes an enum a list of defects (or of other readings): the variants, each with its name.
macro_rules! defects {
    ($(#[$about:meta])* $visibility:vis enum $list:ident { $($(#[$what:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        $visibility enum $list {
            $($(#[$what])* #[serde(rename = $name)] $variant,)+
        }

        impl $crate::repairs::Defect for $list {
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            fn place(self) -> u8 {
                self as u8
            }
        }
    };
}
pub(crate) use defects;

/// A set of repaired defects. Written as the list of their names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(
    into = "Vec<D>",
    from = "Vec<D>",
    bound(serialize = "D: Defect + serde::Serialize", deserialize = "D: Defect + serde::Deserialize<'de>")
)]
pub struct Repairs<D> {
    bits: u16,
    list: PhantomData<D>,
}

impl<D: Defect> Repairs<D> {
    /// The text as printed.
    pub const NONE: Self = Self { bits: 0, list: PhantomData };

    pub fn all() -> Self {
        D::ALL.iter().copied().collect()
    }

    pub fn all_but(missing: impl IntoIterator<Item = D>) -> Self {
        missing.into_iter().fold(Self::all(), Self::without)
    }

    #[must_use]
    pub fn with(self, defect: D) -> Self {
        Self { bits: self.bits | bit(defect), ..self }
    }

    #[must_use]
    pub fn without(self, defect: D) -> Self {
        Self { bits: self.bits & !bit(defect), ..self }
    }

    pub fn has(self, defect: D) -> bool {
        self.bits & bit(defect) != 0
    }

    /// The repaired defects, in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = D> {
        D::ALL.iter().copied().filter(move |defect| self.has(*defect))
    }
}

impl<D: Defect> Default for Repairs<D> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<D: Defect> fmt::Debug for Repairs<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl<D: Defect> FromIterator<D> for Repairs<D> {
    fn from_iter<I: IntoIterator<Item = D>>(defects: I) -> Self {
        defects.into_iter().fold(Self::NONE, Self::with)
    }
}

impl<D: Defect> From<Vec<D>> for Repairs<D> {
    fn from(defects: Vec<D>) -> Self {
        defects.into_iter().collect()
    }
}

impl<D: Defect> From<Repairs<D>> for Vec<D> {
    fn from(repairs: Repairs<D>) -> Self {
        repairs.iter().collect()
    }
}

fn bit<D: Defect>(defect: D) -> u16 {
    1 << defect.place()
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::vec::Vec;

    use super::Defect as _;
    use crate::printed::{flood, group, reverse_link};

    defects! {
        /// Three defects of nothing.
        enum Defect {
            X1 = "x1",
            X2 = "x2",
            X3 = "x3",
        }
    }

    type Repairs = super::Repairs<Defect>;

    fn list(repairs: Repairs) -> Vec<Defect> {
        repairs.iter().collect()
    }

    #[test]
    fn a_set_has_what_was_put_in_and_nothing_else() {
        assert_eq!(list(Repairs::NONE), []);
        assert_eq!(list(Repairs::NONE.with(Defect::X3).with(Defect::X1)), [Defect::X1, Defect::X3]);
        assert_eq!(list(Repairs::all()), Defect::ALL);
        assert_eq!(list(Repairs::all().without(Defect::X2).without(Defect::X2)), [Defect::X1, Defect::X3]);
        assert_eq!([Defect::X2, Defect::X2].into_iter().collect::<Repairs>(), Repairs::NONE.with(Defect::X2));
        assert_eq!(format!("{:?}", Repairs::all_but([Defect::X1])), "{X2, X3}");
    }

    #[test]
    fn all_but_some_lacks_exactly_those() {
        assert_eq!(list(Repairs::all_but([Defect::X1, Defect::X3])), [Defect::X2]);
        assert_eq!(Repairs::all_but([]), Repairs::all());
    }

    #[test]
    fn a_defect_is_found_by_its_name_in_any_case() {
        assert_eq!(Defect::named("x2"), Some(Defect::X2));
        assert_eq!(Defect::named("X2"), Some(Defect::X2));
        assert_eq!(Defect::named("x4"), None);
        assert_eq!(Defect::named(""), None);
    }

    #[test]
    fn a_set_is_read_from_a_list_of_names() {
        use serde::Deserialize as _;
        use serde::de::value::{Error, SeqDeserializer};
        let read =
            |names: &[&'static str]| Repairs::deserialize(SeqDeserializer::<_, Error>::new(names.iter().copied()));
        assert_eq!(read(&["x3", "x1"]), Ok(Repairs::all_but([Defect::X2])));
        assert_eq!(read(&[]), Ok(Repairs::NONE));
        assert!(read(&["x4"]).is_err());
    }

    #[test]
    fn every_list_fits_and_is_numbered_in_order() {
        fn check<D: super::Defect + PartialEq>(letter: char, count: usize) {
            assert_eq!(D::ALL.len(), count);
            for (number, defect) in (1..).zip(D::ALL) {
                assert_eq!(defect.name(), format!("{letter}{number}"));
                assert_eq!(D::named(defect.name()), Some(*defect));
                assert_eq!(super::Repairs::NONE.with(*defect).iter().collect::<Vec<_>>(), [*defect]);
            }
        }
        check::<reverse_link::Defect>('p', 8);
        check::<group::Defect>('g', 10);
        check::<flood::Defect>('f', 7);
    }
}
