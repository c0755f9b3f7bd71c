//! DMA commands on a blade: bus requests of 128 bytes, from a controller over the command bus, a data bus or two, to a local store.

use super::chip::Chip;
use super::eib::{BIF, CROSSED, Grant, SPES, place};
use super::{CellEvent, Events, Hardware};
use crate::simulate::network::Event;
use crate::simulate::queue::Moment;
use alloc::vec;
use alloc::vec::Vec;

/// The length of a bus request (C 3.3).
const REQUEST_BYTES: u64 = 128;
/// The width of a ring (C 2): what it carries in a bus cycle.
const RING_BYTES: u64 = 16;
/// The shortest DMA (C 3.3), and the length of a notification, an address or an acknowledgement (C 3.2).
const LEAST_BYTES: u64 = 16;
/// The longest DMA command; longer transfers are several.
const COMMAND_BYTES: u64 = 16 << 10;

/// Something on a blade; numbers are those of commands, chips and requests.
#[derive(Clone, Copy, Debug)]
pub enum DmaEvent {
    /// A command is with its controller.
    Queued(u32),
    /// A chip's command bus takes a request.
    Take(u32),
    /// A request is snooped and asks for the data bus.
    Snooped(u32),
    /// A request's transfer on a data bus is over.
    Released(u32),
    /// A request's data have come over the BIF.
    Crossed(u32),
    /// A request's data are there.
    Delivered(u32),
}

/// What a controller is to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    /// The message that it is for.
    pub message: u32,
    /// The rank whose controller does it.
    pub owner: u32,
    /// Whose local store is read.
    pub from: u32,
    /// Whose is written.
    pub to: u32,
    /// How much.
    pub bytes: u64,
}

/// A DMA command.
#[derive(Clone, Copy, Debug)]
struct Command {
    transfer: Transfer,
    /// Bytes for which no request has been made.
    unasked: u64,
    /// Bytes that are not there.
    missing: u64,
}

/// A bus request.
#[derive(Clone, Copy, Debug)]
struct Request {
    command: u32,
    bytes: u64,
    /// The chip on whose data bus it is, or will be next.
    chip: u32,
    grant: Grant,
}

/// Things by number; the numbers of those that are over are used again.
#[derive(Clone, Debug)]
struct Slab<T> {
    all: Vec<T>,
    over: Vec<u32>,
}

impl<T> Slab<T> {
    fn new() -> Slab<T> {
        let (all, over) = (Vec::new(), Vec::new());
        Slab { all, over }
    }

    fn add(&mut self, thing: T) -> u32 {
        if let Some(number) = self.over.pop() {
            self.all[number as usize] = thing;
            return number;
        }
        self.all.push(thing);
        self.all.len() as u32 - 1
    }

    fn get(&mut self, number: u32) -> &mut T {
        &mut self.all[number as usize]
    }
}

/// All chips, and what their controllers are doing.
#[derive(Clone, Debug)]
pub(super) struct Dma {
    chips: Vec<Chip>,
    /// When each chip's BIF is free to send.
    bif_free_ps: Vec<Moment>,
    commands: Slab<Command>,
    requests: Slab<Request>,
}

fn push(queue: &mut Events, at_ps: Moment, event: DmaEvent) {
    queue.push(at_ps, Event::Inside(CellEvent::Blade(event)));
}

impl Dma {
    pub(super) fn new(chips: u32) -> Dma {
        Dma {
            chips: vec![Chip::default(); chips as usize],
            bif_free_ps: vec![0; chips as usize],
            commands: Slab::new(),
            requests: Slab::new(),
        }
    }

    /// Gives a controller the commands of a transfer, of which the first is issued at `at_ps`; says how many they are.
    pub(super) fn start(
        &mut self,
        hardware: &Hardware,
        at_ps: Moment,
        transfer: Transfer,
        queue: &mut Events,
    ) -> u32 {
        let bytes = transfer.bytes.max(1).next_multiple_of(LEAST_BYTES);
        let commands = bytes.div_ceil(COMMAND_BYTES);
        for part in 0..commands {
            let bytes = (bytes - part * COMMAND_BYTES).min(COMMAND_BYTES);
            let command = self.commands.add(Command {
                transfer,
                unasked: bytes,
                missing: bytes,
            });
            let issued_ps = at_ps + part * hardware.processor.send.of(0);
            push(
                queue,
                issued_ps + hardware.mfc_ps,
                DmaEvent::Queued(command),
            );
        }
        commands as u32
    }

    /// Something happens; gives the message of which a command is over.
    pub(super) fn happen(
        &mut self,
        hardware: &Hardware,
        event: DmaEvent,
        queue: &mut Events,
    ) -> Option<u32> {
        match event {
            DmaEvent::Queued(command) => {
                let owner = self.commands.get(command).transfer.owner;
                let chip = owner / SPES;
                self.chips[chip as usize].queue(owner % SPES, command);
                self.wake(hardware, chip, queue);
            }
            DmaEvent::Take(chip) => self.take(hardware, chip, queue),
            DmaEvent::Snooped(request) => self.snooped(hardware, request, queue),
            DmaEvent::Released(request) => self.released(hardware, request, queue),
            DmaEvent::Crossed(number) => {
                let request = *self.requests.get(number);
                let to = self.commands.get(request.command).transfer.to;
                let bus = &mut self.chips[request.chip as usize].eib;
                bus.ask(CROSSED, number, BIF, place(to));
                self.arbitrate(hardware, request.chip, queue);
            }
            DmaEvent::Delivered(request) => return self.delivered(hardware, request, queue),
        }
        None
    }

    /// Has a chip's command bus take a request as soon as it can, if there is one.
    fn wake(&mut self, hardware: &Hardware, number: u32, queue: &mut Events) {
        let chip = &mut self.chips[number as usize];
        if !chip.taking && chip.ready(hardware.outstanding) {
            chip.taking = true;
            push(queue, chip.free_ps, DmaEvent::Take(number));
        }
    }

    /// A command bus takes the request whose turn it is.
    fn take(&mut self, hardware: &Hardware, number: u32, queue: &mut Events) {
        let now_ps = queue.now_ps();
        let chip = &mut self.chips[number as usize];
        chip.taking = false;
        chip.free_ps = now_ps + hardware.cycle_ps;
        if let Some(turn) = chip.turn(hardware.outstanding) {
            let command = self.commands.get(turn);
            let bytes = command.unasked.min(REQUEST_BYTES);
            command.unasked -= bytes;
            let Transfer {
                owner, from, to, ..
            } = command.transfer;
            if command.unasked > 0 {
                chip.queue(owner % SPES, turn);
            }
            let request = self.requests.add(Request {
                command: turn,
                bytes,
                chip: from / SPES,
                grant: Grant::default(),
            });
            let phase_ps = match from / SPES == to / SPES {
                true => hardware.command_ps,
                false => hardware.bif_command_ps,
            };
            push(queue, now_ps + phase_ps, DmaEvent::Snooped(request));
        }
        self.wake(hardware, number, queue);
    }

    /// A request asks for the data bus where its data are, in the turn of the element by which it came.
    fn snooped(&mut self, hardware: &Hardware, number: u32, queue: &mut Events) {
        let request = *self.requests.get(number);
        let Transfer {
            owner, from, to, ..
        } = self.commands.get(request.command).transfer;
        let here = request.chip;
        let turn = if owner / SPES == here {
            place(owner)
        } else {
            BIF
        };
        let end = if to / SPES == here { place(to) } else { BIF };
        let bus = &mut self.chips[here as usize].eib;
        bus.ask(turn, number, place(from), end);
        self.arbitrate(hardware, here, queue);
    }

    /// A data bus grants what it can.
    fn arbitrate(&mut self, hardware: &Hardware, chip: u32, queue: &mut Events) {
        while let Some(grant) = self.chips[chip as usize].eib.grant() {
            let request = self.requests.get(grant.request);
            request.grant = grant;
            let cycles = request.bytes.div_ceil(RING_BYTES);
            let end_ps = queue.now_ps() + cycles * hardware.cycle_ps;
            push(queue, end_ps, DmaEvent::Released(grant.request));
        }
    }

    /// A transfer on a data bus is over: its data go on, and others may have its place.
    fn released(&mut self, hardware: &Hardware, number: u32, queue: &mut Events) {
        let request = *self.requests.get(number);
        let (here, to) = (request.chip, self.commands.get(request.command).transfer.to);
        self.chips[here as usize].eib.release(&request.grant);
        let off_ps = queue.now_ps() + u64::from(request.grant.hops) * hardware.cycle_ps;
        if to / SPES == here {
            push(
                queue,
                off_ps + hardware.deliver_ps,
                DmaEvent::Delivered(number),
            );
        } else {
            self.requests.get(number).chip = to / SPES;
            let free_ps = &mut self.bif_free_ps[here as usize];
            *free_ps = off_ps.max(*free_ps) + hardware.bif.of(request.bytes);
            push(
                queue,
                *free_ps + hardware.bif_latency_ps,
                DmaEvent::Crossed(number),
            );
        }
        self.arbitrate(hardware, here, queue);
    }

    /// A request's data are there; gives the message whose command is over with it.
    fn delivered(&mut self, hardware: &Hardware, number: u32, queue: &mut Events) -> Option<u32> {
        let request = *self.requests.get(number);
        self.requests.over.push(number);
        let command = self.commands.get(request.command);
        command.missing -= request.bytes;
        let Transfer { message, owner, .. } = command.transfer;
        let over = command.missing == 0;
        if over {
            self.commands.over.push(request.command);
        }
        let chip = owner / SPES;
        self.chips[chip as usize].over(owner % SPES);
        self.wake(hardware, chip, queue);
        over.then_some(message)
    }
}
