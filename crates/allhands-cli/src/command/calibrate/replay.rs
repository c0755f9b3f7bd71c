//! The replay: what was answered once, asked again as it could have been by chance, or only listened to.

use super::bed::{Bed, Question};
use super::sample::Sample;
use allhands_core::machine::Nodes;
use anyhow::Context;

/// A bed that keeps what it is asked, and what it answers.
pub struct Kept<'a> {
    pub bed: &'a mut dyn Bed,
    pub answers: Vec<(Question, Sample)>,
}

impl Bed for Kept<'_> {
    fn ranks(&self) -> (Nodes, u32) {
        self.bed.ranks()
    }

    fn shares_memory(&self) -> bool {
        self.bed.shares_memory()
    }

    fn time(&mut self, question: &Question) -> anyhow::Result<Sample> {
        let sample = self.bed.time(question)?;
        self.answers.push((question.clone(), sample.clone()));
        Ok(sample)
    }

    fn has_time_for(&mut self, bytes: u64) -> anyhow::Result<bool> {
        self.bed.has_time_for(bytes)
    }

    fn has_time_for_more(&mut self, questions: &[Question]) -> anyhow::Result<bool> {
        self.bed.has_time_for_more(questions)
    }

    fn would_take_s(&self) -> Option<f64> {
        self.bed.would_take_s()
    }
}

/// One that answers as it was answered, or could have been.
pub struct Again<'a> {
    pub answers: &'a [(Question, Sample)],
    /// Behind the last one that was asked for, as most come in the same order.
    pub next: usize,
    /// Which of the draws, or as it was answered.
    pub draw: Option<usize>,
    pub nodes: Nodes,
    pub ranks: u32,
    pub shares_memory: bool,
}

impl Bed for Again<'_> {
    fn ranks(&self) -> (Nodes, u32) {
        (self.nodes.clone(), self.ranks)
    }

    fn shares_memory(&self) -> bool {
        self.shares_memory
    }

    fn time(&mut self, question: &Question) -> anyhow::Result<Sample> {
        let mut places = (self.next..self.answers.len()).chain(0..self.next);
        let place = places.find(|at| self.answers[*at].0 == *question);
        let place = place.with_context(|| format!("{question:?} was never asked"))?;
        self.next = place + 1;
        let (_, sample) = &self.answers[place];
        Ok(match self.draw {
            Some(draw) => sample.drawn(draw),
            None => sample.clone(),
        })
    }
}

/// One that only listens: everything takes as long.
pub struct Listens {
    pub asked: Vec<Question>,
    pub nodes: Nodes,
    pub ranks: u32,
    pub shares_memory: bool,
}

impl Bed for Listens {
    fn ranks(&self) -> (Nodes, u32) {
        (self.nodes.clone(), self.ranks)
    }

    fn shares_memory(&self) -> bool {
        self.shares_memory
    }

    fn time(&mut self, question: &Question) -> anyhow::Result<Sample> {
        self.asked.push(question.clone());
        Ok(Sample {
            us: 1.0,
            own_us: 1.0,
            ..Sample::default()
        })
    }
}
