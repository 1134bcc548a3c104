// SPDX-License-Identifier: Apache-2.0
//! Streams over tcp whose two ends know one secret.
//!
//! The handshake is Noise's NNpsk0: fresh Diffie-Hellman keys and the secret
//! together make the keys of the stream, so that neither who listens nor who
//! stands between can read, change or replay anything, also if he learns the
//! secret later. Then come frames: two bytes of length, the highest first, and
//! so many bytes, sealed.

use std::io::{Error, ErrorKind, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use snow::{Builder, TransportState};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tonic::transport::server::Connected;

use crate::identity::Identity;

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";
const PROLOGUE: &[u8] = b"weir-sql plans";

/// Longest frame, and what sealing adds to what is in it.
const FRAME: usize = 65535;
const TAG: usize = 16;

/// So much is sealed at once.
const CHUNK: usize = 16 << 10;

/// Somebody who connects proves who he is within this.
const PROOF: Duration = Duration::from_secs(5);

/// A stream that plans go over.
pub enum Stream {
    Plain(TcpStream),
    Sealed(Box<Sealed>),
}

pub struct Sealed {
    io: TcpStream,
    noise: TransportState,
    frame: Vec<u8>, // that comes, as far as it is there
    plain: Vec<u8>, // of the last one
    given: usize,   // of that
    out: Vec<u8>,   // sealed, on its way
    gone: usize,    // of that
}

/// Connect to a worker.
pub async fn connect(at: &str, identity: &Identity) -> Result<Stream> {
    let keys = identity.keys();
    if keys.is_empty() {
        return TcpStream::connect(at).await.map(quick).map(Stream::Plain);
    }
    let mut last = None;
    for key in &keys {
        let io = quick(TcpStream::connect(at).await?);
        match tokio::time::timeout(PROOF, begin(io, key)).await {
            Ok(Ok(sealed)) => return Ok(Stream::Sealed(Box::new(sealed))),
            Ok(Err(error)) => last = Some(error),
            Err(_) => last = Some(ErrorKind::TimedOut.into()),
        }
    }
    let why = last.map(|error| error.to_string()).unwrap_or_default();
    let text = format!("it does not know our secret, or has none ({why})");
    Err(Error::new(ErrorKind::PermissionDenied, text))
}

/// Take who has connected, if he knows the secret.
pub async fn accept(io: TcpStream, identity: &Identity) -> Result<Stream> {
    let keys = identity.keys();
    let io = quick(io);
    if keys.is_empty() {
        return Ok(Stream::Plain(io));
    }
    let sealed = tokio::time::timeout(PROOF, meet(io, &keys)).await;
    sealed
        .unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
        .map(|sealed| Stream::Sealed(Box::new(sealed)))
}

fn quick(io: TcpStream) -> TcpStream {
    let _ = io.set_nodelay(true); // it is only slower without
    io
}

fn refused(error: snow::Error) -> Error {
    Error::new(ErrorKind::PermissionDenied, error.to_string())
}

fn builder(key: &[u8; 32]) -> Result<Builder<'_>> {
    let pattern = PATTERN.parse().map_err(refused)?;
    let builder = Builder::new(pattern).psk(0, key).map_err(refused)?;
    builder.prologue(PROLOGUE).map_err(refused)
}

async fn begin(mut io: TcpStream, key: &[u8; 32]) -> Result<Sealed> {
    let mut noise = builder(key)?.build_initiator().map_err(refused)?;
    let mut text = [0; 256];
    let n = noise.write_message(&[], &mut text).map_err(refused)?;
    put(&mut io, &text[..n]).await?;
    let answer = get(&mut io).await?;
    noise.read_message(&answer, &mut text).map_err(refused)?;
    Ok(Sealed::new(io, noise.into_transport_mode().map_err(refused)?))
}

async fn meet(mut io: TcpStream, keys: &[[u8; 32]]) -> Result<Sealed> {
    let first = get(&mut io).await?;
    let mut text = [0; 256];
    for key in keys {
        let mut noise = builder(key)?.build_responder().map_err(refused)?;
        if noise.read_message(&first, &mut text).is_err() {
            continue;
        }
        let n = noise.write_message(&[], &mut text).map_err(refused)?;
        put(&mut io, &text[..n]).await?;
        let noise = noise.into_transport_mode().map_err(refused)?;
        return Ok(Sealed::new(io, noise));
    }
    Err(Error::new(ErrorKind::PermissionDenied, "another secret"))
}

async fn put(io: &mut TcpStream, text: &[u8]) -> Result<()> {
    io.write_u16(text.len() as u16).await?;
    io.write_all(text).await
}

/// A message of a handshake.
async fn get(io: &mut TcpStream) -> Result<Vec<u8>> {
    let n = io.read_u16().await?;
    if n > 256 {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut text = vec![0; n.into()];
    io.read_exact(&mut text).await?;
    Ok(text)
}

impl Sealed {
    fn new(io: TcpStream, noise: TransportState) -> Self {
        let empty = Vec::new;
        Self {
            io,
            noise,
            frame: empty(),
            plain: empty(),
            given: 0,
            out: empty(),
            gone: 0,
        }
    }

    /// Bytes of the frame that comes; two before its length is known.
    fn whole(&self) -> usize {
        match self.frame.as_slice() {
            [high, low, ..] => {
                2 + usize::from(u16::from_be_bytes([*high, *low]))
            }
            _ => 2,
        }
    }

    /// Until there is something to give. False: the stream has ended.
    fn poll_fill(&mut self, cx: &mut Context) -> Poll<Result<bool>> {
        while self.given == self.plain.len() {
            while self.frame.len() < self.whole() {
                let at = self.frame.len();
                let mut room = [0; CHUNK];
                let n = (self.whole() - at).min(room.len());
                let mut into = ReadBuf::new(&mut room[..n]);
                ready!(Pin::new(&mut self.io).poll_read(cx, &mut into))?;
                if into.filled().is_empty() {
                    return Poll::Ready(match at {
                        0 => Ok(false),
                        _ => Err(ErrorKind::UnexpectedEof.into()),
                    });
                }
                self.frame.extend_from_slice(into.filled());
            }
            self.plain.resize(FRAME, 0);
            let opened =
                self.noise.read_message(&self.frame[2..], &mut self.plain);
            self.given = 0;
            self.frame.clear();
            match opened {
                Ok(n) => self.plain.truncate(n),
                Err(error) => {
                    self.plain.clear();
                    let text = error.to_string();
                    let error = Error::new(ErrorKind::InvalidData, text);
                    return Poll::Ready(Err(error));
                }
            }
        }
        Poll::Ready(Ok(true))
    }

    fn poll_drain(&mut self, cx: &mut Context) -> Poll<Result<()>> {
        while self.gone < self.out.len() {
            let rest = &self.out[self.gone..];
            let n = ready!(Pin::new(&mut self.io).poll_write(cx, rest))?;
            if n == 0 {
                return Poll::Ready(Err(ErrorKind::WriteZero.into()));
            }
            self.gone += n;
        }
        self.out.clear();
        self.gone = 0;
        Poll::Ready(Ok(()))
    }

    fn seal(&mut self, plain: &[u8]) -> Result<()> {
        self.out.resize(2 + plain.len() + TAG, 0);
        let n = self.noise.write_message(plain, &mut self.out[2..]);
        let n = n.map_err(refused)?;
        self.out.truncate(2 + n);
        self.out[..2].copy_from_slice(&(n as u16).to_be_bytes());
        Ok(())
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context,
        to: &mut ReadBuf,
    ) -> Poll<Result<()>> {
        let sealed = match self.get_mut() {
            Self::Plain(io) => return Pin::new(io).poll_read(cx, to),
            Self::Sealed(sealed) => sealed,
        };
        if ready!(sealed.poll_fill(cx))? {
            let from = &sealed.plain[sealed.given..];
            let n = from.len().min(to.remaining());
            to.put_slice(&from[..n]);
            sealed.given += n;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context,
        from: &[u8],
    ) -> Poll<Result<usize>> {
        let sealed = match self.get_mut() {
            Self::Plain(io) => return Pin::new(io).poll_write(cx, from),
            Self::Sealed(sealed) => sealed,
        };
        ready!(sealed.poll_drain(cx))?;
        let some = &from[..from.len().min(CHUNK)];
        if !some.is_empty() {
            sealed.seal(some)?;
            // What does not go now goes with the next one, or the flush.
            let _ = sealed.poll_drain(cx)?;
        }
        Poll::Ready(Ok(some.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context) -> Poll<Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_flush(cx),
            Self::Sealed(sealed) => {
                ready!(sealed.poll_drain(cx))?;
                Pin::new(&mut sealed.io).poll_flush(cx)
            }
        }
    }

    fn poll_shutdown(
        self: Pin<&mut Self>,
        cx: &mut Context,
    ) -> Poll<Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Self::Sealed(sealed) => {
                ready!(sealed.poll_drain(cx))?;
                Pin::new(&mut sealed.io).poll_shutdown(cx)
            }
        }
    }
}

impl Connected for Stream {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    async fn pair(
        ours: &Identity,
        theirs: Identity,
    ) -> (Result<Stream>, Result<Stream>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap().to_string();
        let accepted = async {
            let (io, _) = listener.accept().await.unwrap();
            accept(io, &theirs).await
        };
        tokio::join!(connect(&at, ours), accepted)
    }

    #[tokio::test]
    async fn what_is_sealed_arrives_whole_both_ways() {
        let identity = Identity::random().unwrap();
        let (one, two) = pair(&identity, identity.clone()).await;
        let (mut one, mut two) = (one.unwrap(), two.unwrap());
        let sent = (0..300_000_u32).map(|i| i as u8).collect::<Vec<_>>();
        for _ in 0..2 {
            let put = async {
                one.write_all(&sent).await.unwrap();
                one.flush().await.unwrap();
            };
            let mut got = vec![0; sent.len()];
            let get = async { two.read_exact(&mut got).await.unwrap() };
            tokio::join!(put, get);
            assert_eq!(got, sent);
            std::mem::swap(&mut one, &mut two);
        }
        one.shutdown().await.unwrap();
        assert_eq!(two.read(&mut [0; 9]).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn nothing_of_it_can_be_read_on_the_way() {
        let identity = Identity::random().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap().to_string();
        let answers = async {
            let (mut io, _) = listener.accept().await.unwrap();
            let sealed = accept_raw(&mut io, &identity).await;
            let mut frame = [0; 2 + 6 + TAG];
            io.read_exact(&mut frame).await.unwrap();
            (sealed, frame)
        };
        let asks = async {
            let mut stream = connect(&at, &identity).await.unwrap();
            stream.write_all(b"secret").await.unwrap();
            stream.flush().await.unwrap();
            stream
        };
        let (_stream, (mut noise, mut frame)) = tokio::join!(asks, answers);
        assert!(!frame.windows(6).any(|bytes| bytes == b"secret"));
        let mut text = [0; 64];
        frame[9] ^= 1; // nor changed
        assert!(noise.read_message(&frame[2..], &mut text).is_err());
        frame[9] ^= 1;
        assert_eq!(noise.read_message(&frame[2..], &mut text).unwrap(), 6);
        assert_eq!(&text[..6], b"secret");
    }

    async fn accept_raw(io: &mut TcpStream, of: &Identity) -> TransportState {
        let keys = of.keys();
        let mut noise = builder(&keys[0]).unwrap().build_responder().unwrap();
        let mut text = [0; 256];
        noise.read_message(&get(io).await.unwrap(), &mut text).unwrap();
        let n = noise.write_message(&[], &mut text).unwrap();
        put(io, &text[..n]).await.unwrap();
        noise.into_transport_mode().unwrap()
    }

    #[tokio::test]
    async fn another_secret_and_none_are_refused() {
        let ours = Identity::random().unwrap();
        let (one, two) = pair(&ours, Identity::random().unwrap()).await;
        assert!(one.is_err() && two.is_err());
        let (one, two) = pair(&Identity::default(), ours).await;
        drop(one.unwrap()); // says nothing
        assert!(two.is_err());
    }
}
