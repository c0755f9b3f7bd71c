//! Tests of matching: by hand, and beside a model that looks through all that there ever was.

use super::*;
use proptest::prelude::*;

fn envelope(source: u32, tag: u32) -> Envelope {
    Envelope {
        source,
        tag,
        element: 0,
        bytes: 0,
    }
}

fn wanted(source: Option<u32>, tag: Option<u32>) -> Wanted {
    Wanted { source, tag }
}

/// A message comes; the receive that it meets, or it is kept.
fn come(matching: &mut Matching<usize>, from: Envelope, message: usize) -> Option<usize> {
    let met = matching.arrive(&from);
    if met.is_none() {
        matching.keep(from, message);
    }
    met
}

#[test]
fn messages_of_a_source_do_not_overtake_one_another() {
    let mut matching = Matching::new(2);
    for message in 0..4 {
        assert_eq!(
            come(&mut matching, envelope(1, message % 2), message as usize),
            None
        );
    }
    assert_eq!(matching.unexpected(1), 4);
    let mut receive = |source, tag| {
        let met = matching.post(wanted(source, tag), 9);
        met.map(|(_, message)| message)
    };
    assert_eq!(receive(Some(1), Some(1)), Some(1));
    assert_eq!(receive(None, None), Some(0));
    assert_eq!(receive(Some(1), None), Some(2));
    assert_eq!(receive(Some(0), None), None);
    assert_eq!(receive(None, Some(1)), Some(3));
}

#[test]
fn a_message_meets_the_receive_that_was_posted_first() {
    let mut matching = Matching::new(2);
    assert!(matching.post(wanted(None, Some(7)), 0).is_none());
    assert!(matching.post(wanted(Some(1), None), 1).is_none());
    assert!(matching.post(wanted(Some(1), Some(7)), 2).is_none());
    assert!(matching.post(wanted(None, None), 3).is_none());
    assert_eq!(come(&mut matching, envelope(1, 7), 0), Some(0));
    assert_eq!(come(&mut matching, envelope(1, 7), 1), Some(1));
    assert_eq!(come(&mut matching, envelope(0, 7), 2), Some(3));
    assert_eq!(come(&mut matching, envelope(1, 8), 3), None);
    assert_eq!(come(&mut matching, envelope(1, 7), 4), Some(2));
}

#[test]
fn a_receive_that_is_taken_back_meets_nothing() {
    let mut matching = Matching::new(1);
    let all = wanted(None, None);
    assert!(matching.post(all, 0).is_none());
    assert!(matching.post(all, 1).is_none());
    assert!(matching.cancel(all, 0));
    assert!(!matching.cancel(all, 0), "it is not there");
    assert_eq!(come(&mut matching, envelope(0, 0), 5), Some(1));
    assert!(!matching.cancel(all, 1), "a message has met it");
    assert_eq!(come(&mut matching, envelope(0, 3), 6), None);
    assert_eq!(matching.probe(all), Some((&envelope(0, 3), &6)));
    assert_eq!(matching.probe(wanted(None, Some(4))), None);
    assert_eq!(matching.post(all, 2).map(|(_, message)| message), Some(6));
    assert_eq!(matching.probe(all), None);
}

/// What happens to a rank.
#[derive(Clone, Copy, Debug)]
enum Event {
    Comes(u32, u32),
    Receives(Option<u32>, Option<u32>),
    /// Takes back one of the receives that were posted so far.
    Cancels(usize),
    Probes(Option<u32>, Option<u32>),
}

fn event() -> impl Strategy<Value = Event> {
    let (source, tag) = (0..3u32, 0..3u32);
    let sources = proptest::option::weighted(0.6, source.clone());
    let tags = proptest::option::weighted(0.6, tag.clone());
    prop_oneof![
        4 => (source, tag).prop_map(|(source, tag)| Event::Comes(source, tag)),
        4 => (sources.clone(), tags.clone()).prop_map(|(source, tag)| Event::Receives(source, tag)),
        1 => (0..100usize).prop_map(Event::Cancels),
        1 => (sources, tags).prop_map(|(source, tag)| Event::Probes(source, tag)),
    ]
}

/// All messages and all receives that there ever were, in their order, and whether they have met.
#[derive(Default)]
struct Model {
    messages: Vec<(u32, u32, bool)>,
    receives: Vec<(Wanted, bool)>,
}

fn takes(wanted: Wanted, (source, tag, met): (u32, u32, bool)) -> bool {
    !met && wanted.source.is_none_or(|w| w == source) && wanted.tag.is_none_or(|w| w == tag)
}

impl Model {
    fn find(&self, wanted: Wanted) -> Option<usize> {
        self.messages
            .iter()
            .position(|message| takes(wanted, *message))
    }

    fn comes(&mut self, source: u32, tag: u32) -> Option<usize> {
        let message = (source, tag, false);
        let mut receives = self.receives.iter();
        let met = receives.position(|(wanted, met)| !met && takes(*wanted, message));
        self.messages.push((source, tag, met.is_some()));
        if let Some(receive) = met {
            self.receives[receive].1 = true;
        }
        met
    }

    fn receives(&mut self, wanted: Wanted) -> Option<usize> {
        let met = self.find(wanted);
        self.receives.push((wanted, met.is_some()));
        if let Some(message) = met {
            self.messages[message].2 = true;
        }
        met
    }
}

proptest! {
    #[test]
    fn it_does_what_the_model_does(events in proptest::collection::vec(event(), 1..120)) {
        let (mut matching, mut model) = (Matching::new(3), Model::default());
        for event in events {
            match event {
                Event::Comes(source, tag) => {
                    let message = model.messages.len();
                    let met = come(&mut matching, envelope(source, tag), message);
                    prop_assert_eq!(met, model.comes(source, tag));
                }
                Event::Receives(source, tag) => {
                    let (wanted, receive) = (wanted(source, tag), model.receives.len());
                    let met = matching.post(wanted, receive);
                    let expected = model.receives(wanted);
                    prop_assert_eq!(met.as_ref().map(|(_, message)| *message), expected);
                    if let (Some((envelope, _)), Some(message)) = (met, expected) {
                        let (source, tag, _) = model.messages[message];
                        prop_assert_eq!((envelope.source, envelope.tag), (source, tag));
                    }
                }
                Event::Cancels(receive) => {
                    let Some((wanted, met)) = model.receives.get_mut(receive) else {
                        continue;
                    };
                    prop_assert_eq!(matching.cancel(*wanted, receive), !*met);
                    *met = true;
                }
                Event::Probes(source, tag) => {
                    let wanted = wanted(source, tag);
                    let found = matching.probe(wanted).map(|(found, _)| (found.source, found.tag));
                    let expected = model.find(wanted).map(|at| model.messages[at]);
                    prop_assert_eq!(found, expected.map(|(source, tag, _)| (source, tag)));
                }
            }
            for source in 0..3 {
                let of_source = |m: &&(u32, u32, bool)| m.0 == source && !m.2;
                let kept = model.messages.iter().filter(of_source).count();
                prop_assert_eq!(matching.unexpected(source), kept);
            }
        }
    }
}
