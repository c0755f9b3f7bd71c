//! The drop-in: a library that is preloaded into an MPI program and takes over its collective calls.
//!
//! `LD_PRELOAD=liballhands_mpi.so mpiexec -n 4 ./program` is all there is to it: nothing is recompiled or linked again. The
//! library knows MPICH's ABI (MPICH, Intel MPI, and others), Open MPI's, and the standard ABI of MPI 5, which it
//! distinguishes by the MPI that the process has loaded; it refers to none of them when it is linked.
//!
//! ```text
//! MPI_Allreduce ─▶ entry ─▶ takeover ──▶ collective ─▶ allhands::Communicator   (shared memory; between nodes, network)
//!                              │  which state has the communicator?  agreed by all its ranks, once
//!                              └──────▶ PMPI_Allreduce                           (with a counted reason)
//! ```
//!
//! What decides whether a call is taken over is equal on all ranks: what the communicator's ranks have agreed on in their
//! first collective on it, and of a reduction its operator and type, which the standard demands to be the same everywhere.
//! Data that is only moved travels as bytes, so ranks may describe it differently, as the standard lets them.

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod abi;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod buffer;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod collective;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod context;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod datatype;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod dispatch;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod entry;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod native;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod network;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod report;
