//! Exchange phases: rings, doublings and Bruck steps that gather blocks on every rank.
