//! Keys: the one key pair of a job, derived from its secret, and what TLS is to be like at both ends.
//!
//! There are no certificates, so nobody issues any, and no clock matters: both ends show a raw public key (RFC 7250), and each wants
//! to see the very key that follows from its own secret. Who does not know the secret has no private key to it. The keys that encrypt
//! are drawn anew for every connection (X25519), so who learns the secret later cannot read what was recorded.

use super::session::Session;
use crate::transport::net::tcp::protocol::handshake::Secret;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, ClientConfig, Resumption};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{
    CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, ServerConfig};
use rustls::sign::{CertifiedKey, SigningKey};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible,
    SignatureScheme, version,
};
use std::sync::Arc;

/// What stands before the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410).
const PKCS8: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// What both ends of encrypted connections have.
#[derive(Debug)]
pub(crate) struct Tls {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Tls {
    /// That of all who know this secret.
    ///
    /// # Errors
    /// In words, if the library does not accept what it is given, which no secret makes it do.
    pub(crate) fn new(secret: &Secret) -> Result<Tls, String> {
        configure(secret).map_err(|error| format!("TLS cannot be used: {error}"))
    }

    /// The session of a connection that this end makes.
    pub(crate) fn connecting(&self) -> Session {
        Session::connecting(Arc::clone(&self.client))
    }

    /// That of one that it accepts.
    pub(crate) fn accepting(&self) -> Session {
        Session::accepting(Arc::clone(&self.server))
    }

    #[cfg(test)]
    pub(super) fn configurations(&self) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
        (Arc::clone(&self.client), Arc::clone(&self.server))
    }
}

/// The private key of those who know a secret.
fn signing_key(secret: &Secret) -> Result<Arc<dyn SigningKey>, Error> {
    let seed = secret.derive(b"allhands tls ed25519", &[]);
    let key = PrivatePkcs8KeyDer::from([&PKCS8[..], &seed].concat());
    ring::sign::any_eddsa_type(&key)
}

/// The public key to it, as it is shown.
pub(super) fn public_key(secret: &Secret) -> Result<SubjectPublicKeyInfoDer<'static>, Error> {
    let none = || Error::General("the private key has no public one".into());
    let private = signing_key(secret)?;
    let public = private.public_key().ok_or_else(none)?;
    Ok(public.into_owned())
}

/// The one group, and few ciphers, that are needed where both ends are of one program.
fn provider() -> Arc<CryptoProvider> {
    use ring::cipher_suite::{TLS13_AES_128_GCM_SHA256, TLS13_CHACHA20_POLY1305_SHA256};
    let all = ring::default_provider();
    Arc::new(CryptoProvider {
        cipher_suites: vec![TLS13_AES_128_GCM_SHA256, TLS13_CHACHA20_POLY1305_SHA256],
        kx_groups: vec![ring::kx_group::X25519],
        ..all
    })
}

fn configure(secret: &Secret) -> Result<Tls, Error> {
    let public = public_key(secret)?;
    let shown = CertificateDer::from(public.as_ref().to_vec());
    let own = Arc::new(CertifiedKey::new(vec![shown], signing_key(secret)?));
    let expected = Arc::new(Expected {
        public,
        provider: provider(),
    });
    let client = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(&expected) as Arc<dyn ServerCertVerifier>);
    let own_key = AlwaysResolvesClientRawPublicKeys::new(Arc::clone(&own));
    let mut client = client.with_client_cert_resolver(Arc::new(own_key));
    client.enable_sni = false;
    client.resumption = Resumption::disabled();
    client.enable_secret_extraction = true;
    let server = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&version::TLS13])?
        .with_client_cert_verifier(expected);
    let mut server =
        server.with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(own)));
    server.send_tls13_tickets = 0;
    server.enable_secret_extraction = true;
    Ok(Tls {
        client: Arc::new(client),
        server: Arc::new(server),
    })
}

/// What the other end must show: the key of those who know the secret, and a signature by it.
#[derive(Debug)]
struct Expected {
    public: SubjectPublicKeyInfoDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl Expected {
    fn check(&self, shown: &CertificateDer<'_>) -> Result<(), Error> {
        // Both are public, as far as this matters: how long it takes to compare them tells nothing.
        match shown.as_ref() == self.public.as_ref() {
            true => Ok(()),
            false => Err(Error::InvalidCertificate(
                CertificateError::ApplicationVerificationFailure,
            )),
        }
    }

    fn check_signature(
        &self,
        message: &[u8],
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(message, &self.public, signature, known)
    }
}

fn too_old() -> Error {
    PeerIncompatible::Tls12NotOffered.into()
}

impl ServerCertVerifier for Expected {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(shown).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(too_old())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        _: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for Expected {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(shown).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(too_old())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        _: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
