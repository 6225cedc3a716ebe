//! News of the interfaces and addresses of this machine, where the system tells them.
//!
//! To look at all interfaces is work for the system, and most of it is done for nothing. Linux tells what changes on a
//! netlink socket. What it says is not read: that it says something is a reason to look again.

/// Says when to look again.
#[derive(Debug)]
pub(super) struct Interfaces(told::Ear);

impl Interfaces {
    /// Listens from now on, if that is possible here.
    pub(super) fn listen() -> Self {
        Self(told::Ear::open())
    }

    /// Whether the system tells what changes. Otherwise one has to look each time.
    pub(super) fn are_told(&self) -> bool {
        self.0.is_open()
    }

    /// Waits until something has changed; without end if the system does not tell. May be dropped and called again.
    pub(super) async fn changed(&mut self) {
        self.0.hear().await;
    }
}

#[cfg(target_os = "linux")]
mod told {
    use std::future::pending;
    use std::io::{self, ErrorKind};
    use std::os::unix::net;

    use rustix::net::netlink::SocketAddrNetlink;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
    use tokio::net::UnixDatagram;

    /// Interfaces that come, go, or get a carrier; addresses by IPv4; by IPv6 (`RTMGRP_*`).
    const GROUPS: u32 = 0x1 | 0x10 | 0x100;

    /// A socket to the kernel, unless it cannot be had or has failed. It is one for datagrams within this machine, and all
    /// that is done with it is to take them: that is the same for netlink and for those of Unix.
    #[derive(Debug)]
    pub(super) struct Ear(Option<UnixDatagram>);

    impl Ear {
        pub(super) fn open() -> Self {
            let opened = open();
            if let Err(error) = &opened {
                tracing::debug!(%error, "the system does not tell of interfaces; they are looked at each time");
            }
            Self(opened.ok())
        }

        pub(super) fn is_open(&self) -> bool {
            self.0.is_some()
        }

        pub(super) async fn hear(&mut self) {
            let Some(ear) = &self.0 else { return pending().await };
            loop {
                let drained = match ear.readable().await {
                    Ok(()) => drain(ear),
                    Err(error) => Err(error),
                };
                match drained {
                    Ok(true) => return,
                    Ok(false) => {}
                    Err(error) => {
                        tracing::debug!(%error, "the system tells no more of interfaces");
                        break;
                    }
                }
            }
            self.0 = None; // that is news, too
        }
    }

    fn open() -> io::Result<UnixDatagram> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        // No protocol: that of routes.
        let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, None)?;
        bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
        UnixDatagram::from_std(net::UnixDatagram::from(socket))
    }

    /// Takes all that is there. Whether there was anything.
    fn drain(ear: &UnixDatagram) -> io::Result<bool> {
        let mut told = false;
        loop {
            match ear.try_recv(&mut [0; 256]) {
                // What does not fit is not needed.
                Ok(_) => told = true,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(told),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // More than the system could keep for us.
                Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NOBUFS.raw_os_error()) => told = true,
                Err(error) => return Err(error),
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[tokio::test]
        async fn nothing_to_take_is_no_news() {
            let ear = open().unwrap();
            // Others may change something on this machine meanwhile.
            while drain(&ear).unwrap() {}
            assert!(Ear(Some(ear)).is_open());
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod told {
    /// This system does not tell, or we do not know how to ask.
    #[derive(Debug)]
    pub(super) struct Ear;

    impl Ear {
        pub(super) fn open() -> Self {
            Self
        }

        pub(super) fn is_open(&self) -> bool {
            false
        }

        pub(super) async fn hear(&mut self) {
            std::future::pending().await
        }
    }
}
