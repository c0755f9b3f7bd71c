//! What a developer of Allhands runs.

fn main() {}
