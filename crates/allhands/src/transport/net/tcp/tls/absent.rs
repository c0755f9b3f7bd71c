//! What a build without TLS has in its place: nothing, and who asks for it is told so.

use super::{Fault, is_there};
use crate::transport::net::tcp::protocol::handshake::Secret;
use std::io::IoSlice;
use std::os::fd::AsFd;

/// None.
#[derive(Debug)]
pub(crate) enum Tls {}

/// None.
#[derive(Debug)]
pub(crate) enum Session {}

impl Tls {
    pub(crate) fn new(_secret: &Secret) -> Result<Tls, String> {
        match is_there() {
            Err(why) => Err(why.into()),
            Ok(()) => unreachable!("this is only compiled where it is not"),
        }
    }

    pub(crate) fn connecting(&self) -> Session {
        match *self {}
    }

    pub(crate) fn accepting(&self) -> Session {
        match *self {}
    }
}

impl Session {
    pub(crate) fn read(
        &mut self,
        _: &impl AsFd,
        _: &mut [u8],
        _: &mut [u8],
    ) -> Result<usize, Fault> {
        match *self {}
    }

    pub(crate) fn write(&mut self, _: &impl AsFd, _: &[IoSlice<'_>]) -> Result<usize, Fault> {
        match *self {}
    }

    pub(crate) fn flush(&mut self, _: &impl AsFd) -> Result<bool, Fault> {
        match *self {}
    }

    pub(crate) fn close(&mut self) {
        match *self {}
    }

    pub(crate) fn unwritten_bytes(&self) -> usize {
        match *self {}
    }

    pub(crate) fn has_more(&self) -> bool {
        match *self {}
    }

    pub(crate) fn note_more(&mut self) {
        match *self {}
    }

    pub(crate) fn is_open(&self) -> bool {
        match *self {}
    }

    pub(crate) fn has_opened(&mut self) -> bool {
        match *self {}
    }
}
