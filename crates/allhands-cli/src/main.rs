//! The program `allhands`.

fn main() {}
