//! The page is part of the program: whatever changes in its folder is built in anew.

fn main() {
    println!("cargo:rerun-if-changed=page/app");
}
