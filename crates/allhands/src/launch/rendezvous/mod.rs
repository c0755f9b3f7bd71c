//! The rendezvous: ranks on several hosts find one another, when all they know is where rank 0 listens.
//!
//! [`settings`] is what the environment says, [`announcement`] what a process manager tells instead; [`card`] what each rank tells all;
//! [`wireup`] the exchange of cards, a machine without sockets, whose connections are [`link`]s; [`offer`] is by which interfaces a rank
//! can be reached, and [`rails`] which of them carry messages; [`driver`] drives the wire-up, over [`wire`]s; [`seat`] is what a rank has of its node's
//! memory meanwhile, [`cluster`] what it has in the end.

mod announcement;
mod card;
mod cluster;
mod driver;
mod identity;
mod interfaces;
mod link;
mod offer;
mod rails;
mod seat;
mod settings;
#[cfg(test)]
mod simulation;
mod wire;
mod wireup;

pub(super) use announcement::{Announcement, Location};
pub(crate) use cluster::Cluster;
pub(super) use settings::Settings;

use super::{Environment, LaunchError, Launcher, Segment};
use crate::transport::net::tcp::Listener;
use crate::transport::net::tcp::tls::Tls;
use card::Card;
use driver::Driver;
use offer::Offer;
use seat::Seat;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};
use wireup::{WireUp, words_of_gone};

/// What a rank has from who started it.
pub(super) struct Means {
    pub(super) launcher: Launcher,
    /// A segment for those on this host.
    pub(super) given: Option<Segment>,
    /// At rank 0: where it is to listen, if it does so already.
    pub(super) listener: Option<TcpListener>,
}

/// Meets all other ranks.
pub(super) fn meet(
    settings: &Settings,
    means: Means,
    environment: Environment<'_>,
) -> Result<Cluster, LaunchError> {
    let began = Instant::now();
    let point = resolve(settings, began)?;
    let (own, listener) = match (settings.rank, means.listener) {
        (0, Some(listener)) => (point[0].ip(), listener),
        (0, None) => listen_as_point(settings, &point)?,
        _ => {
            let own = own_address(settings, point[0])?;
            (own, bind(own, settings)?)
        }
    };
    let mut offer = Offer::new(settings, own);
    let endpoints = offer.open_endpoints(settings);
    let endpoints = endpoints.map_err(|error| LaunchError::WireUp {
        says: format!("rank {}: {error}", settings.rank),
    })?;
    let rails = offer.listen(settings.ports.clone());
    let rails =
        rails.map_err(|error| LaunchError::system("cannot listen for other ranks", error))?;
    let mut seat = Seat::new(means.given)?;
    let card = card(settings, &seat, environment)?;
    let lacks = offer.lacks(&card);
    if settings.rank == 0 && !lacks.is_empty() {
        return Err(LaunchError::WireUp { says: lacks });
    }
    let card = Card {
        wiring: listener.local_addr().map_err(no_address)?,
        rails: offer.rails(rails.addresses(), &endpoints, &card.cpus),
        is_named: offer.is_named,
        lacks,
        ..card
    };
    let secret = settings.secret.clone();
    let tls = settings.tls.then(|| Tls::new(&secret)).transpose();
    let tls = tls.map_err(|says| LaunchError::WireUp { says })?;
    let last = (settings.limit, driver::nonce()?);
    let wireup = WireUp::new(card, settings.place(), secret.clone(), last);
    let _files = Files::allow(u64::from(settings.ranks));
    let mut driver = Driver::new(wireup, (listener, tls), point, began);
    let met = driver.run(|table| {
        let fit = cluster::fit(table, settings.rank);
        fit.map_err(|says| LaunchError::WireUp { says })?;
        seat.take(table, settings.rank)
    });
    met.inspect_err(|_| seat.give_up())?;
    let (table, reached) = driver.end();
    let own = cluster::Own {
        rank: settings.rank,
        segment: seat.segment(),
        launcher: means.launcher,
        listener: rails,
        endpoints,
        secret,
        tls: settings.tls,
        reached,
    };
    Cluster::new(&table, own)
}

/// The card of this rank, but for where it listens.
fn card(
    settings: &Settings,
    seat: &Seat,
    environment: Environment<'_>,
) -> Result<Card, LaunchError> {
    let segment = seat.whereabouts()?;
    let given = seat.is_given().then_some(segment);
    let identity = identity::own(settings.node.as_deref(), given, environment)?;
    Ok(Card {
        rank: settings.rank,
        ranks: settings.ranks,
        node: identity.node,
        host: identity.host,
        machine: identity.machine,
        cpus: identity.cpus,
        cpus_most: identity.cpus_most,
        pid: std::process::id(),
        segment,
        wiring: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        rails: Vec::new(),
        is_named: false,
        is_eager: settings.is_eager,
        lacks: String::new(),
    })
}

/// Where rank 0 listens; a name that is not known yet may become so.
fn resolve(settings: &Settings, began: Instant) -> Result<Vec<SocketAddr>, LaunchError> {
    loop {
        let why = match (settings.host.as_str(), settings.port).to_socket_addrs() {
            Ok(addresses) => {
                let addresses: Vec<SocketAddr> = addresses.collect();
                if !addresses.is_empty() {
                    return Ok(addresses);
                }
                "it has no address".to_string()
            }
            Err(error) => error.to_string(),
        };
        if began.elapsed() >= settings.limit {
            let (host, rank) = (&settings.host, settings.rank);
            return Err(LaunchError::WireUp {
                says: format!(
                    "rank {rank} knows no host {host} ({why}); right would be a name or address of rank 0's host in ALLHANDS_RENDEZVOUS"
                ),
            });
        }
        std::thread::sleep(Duration::from_millis(200).min(settings.limit));
    }
}

/// Whether the host was said by number, or is meant to be this one.
fn is_literal(settings: &Settings) -> bool {
    settings.host == "localhost" || settings.host.parse::<IpAddr>().is_ok()
}

/// Rank 0's listener, and the address by which it can be reached, which may be unspecified: whoever reaches it knows.
fn listen_as_point(
    settings: &Settings,
    point: &[SocketAddr],
) -> Result<(IpAddr, TcpListener), LaunchError> {
    let place = settings.place();
    let mut everywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, settings.port));
    for address in point {
        // Many a host calls itself by a loopback address, by which no other reaches it.
        if address.ip().is_loopback() && !is_literal(settings) {
            continue;
        }
        match TcpListener::bind(address) {
            Ok(listener) => return Ok((address.ip(), prepared(listener)?)),
            Err(error) if error.kind() == std::io::ErrorKind::AddrNotAvailable => {
                if TcpStream::connect_timeout(address, Duration::from_secs(1)).is_ok() {
                    let says = format!(
                        "rank 0 should listen at {place}, which is no address of this host, and somebody listens there already; right would be one rank 0, on the host that ALLHANDS_RENDEZVOUS names"
                    );
                    return Err(LaunchError::WireUp { says });
                }
                if address.is_ipv6() {
                    everywhere =
                        SocketAddr::new(std::net::Ipv6Addr::UNSPECIFIED.into(), settings.port);
                }
            }
            Err(error) => return Err(cannot_listen(&place, &error)),
        }
    }
    // Behind a translated address, or one of the loopback's.
    let listener = TcpListener::bind(everywhere);
    let listener = listener.map_err(|error| cannot_listen(&place, &error))?;
    Ok((everywhere.ip(), prepared(listener)?))
}

fn cannot_listen(place: &str, error: &std::io::Error) -> LaunchError {
    let says = format!(
        "rank 0 cannot listen at {place} ({error}); right would be a port in ALLHANDS_RENDEZVOUS that is free, and one rank 0"
    );
    LaunchError::WireUp { says }
}

fn prepared(listener: TcpListener) -> Result<TcpListener, LaunchError> {
    let wrong = |error: std::io::Error| LaunchError::system("cannot listen for other ranks", error);
    // All may come at once.
    rustix::net::listen(&listener, 4096).map_err(|error| wrong(error.into()))?;
    listener.set_nonblocking(true).map_err(wrong)?;
    Ok(listener)
}

/// The address by which other hosts reach this one.
fn own_address(settings: &Settings, point: SocketAddr) -> Result<IpAddr, LaunchError> {
    let towards = interfaces::towards(point);
    if let Some(ip) = towards.filter(|ip| !ip.is_loopback() || is_literal(settings)) {
        return Ok(ip);
    }
    let outward = interfaces::outward(&interfaces::all()).or(towards);
    outward.ok_or_else(|| LaunchError::WireUp {
        says: format!(
            "rank {} has no way to rank 0 at {} ({point})",
            settings.rank,
            settings.place()
        ),
    })
}

fn bind(own: IpAddr, settings: &Settings) -> Result<TcpListener, LaunchError> {
    let listener = Listener::bind_one(own, settings.ports.clone());
    let wrong = |error| LaunchError::system("cannot listen for other ranks", error);
    prepared(listener.map_err(wrong)?)
}

fn no_address(error: std::io::Error) -> LaunchError {
    LaunchError::system("cannot tell where it listens", error)
}

/// As many open files as a wire-up needs; what was allowed before is allowed again afterwards.
struct Files(Option<rustix::process::Rlimit>);

impl Files {
    fn allow(ranks: u64) -> Files {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let before = getrlimit(Resource::Nofile);
        let needed = ranks + 200;
        if before.current.is_none_or(|now| now >= needed) {
            return Files(None);
        }
        let most = before.maximum.map_or(needed, |most| most.min(needed));
        let current = Some(most);
        // Without, connections wait until others are closed, and it may take too long.
        let raised = setrlimit(Resource::Nofile, Rlimit { current, ..before });
        Files(raised.is_ok().then_some(before))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            // That more are allowed than before does no harm.
            let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, before);
        }
    }
}
