//! Where a node is.

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;

use crate::error::Error;

/// Where a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Socket(PathBuf),
    /// Host and port.
    Tcp(String),
}

impl Address {
    /// Reads `unix:/path` or `http://host:port`.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").filter(|rest| rest.starts_with('/')).unwrap_or(path);
            return if path.is_empty() { Err(wrong(text)) } else { Ok(Self::Socket(path.into())) };
        }
        if text.starts_with("https://") {
            let fix = "nodes speak plain HTTP; use http:// on this machine or through a tunnel";
            return Err(Error::Address(format!("{text:?}: {fix}")));
        }
        let host = text.strip_prefix("http://").ok_or_else(|| wrong(text))?.trim_end_matches('/');
        let port = host.rsplit_once(':').and_then(|(name, port)| (!name.is_empty()).then(|| port.parse::<u16>().ok()));
        match port.flatten() {
            Some(_) if !host.contains(['/', '?', '#', '@', ' ']) => Ok(Self::Tcp(host.to_owned())),
            Some(_) | None => Err(wrong(text)),
        }
    }

    /// What the environment says: `MESHLOCK_URL`, then `MESHLOCK_SOCKET`, then the usual place.
    pub(crate) fn from_environment() -> Result<Self, Error> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        if let Some(url) = variable("MESHLOCK_URL") {
            return Self::parse(&url.to_string_lossy());
        }
        let socket = variable("MESHLOCK_SOCKET").map(PathBuf::from);
        Ok(Self::Socket(socket.unwrap_or_else(meshlock_api::socket::find)))
    }

    /// The header `host` of a question.
    pub(crate) fn host(&self) -> &str {
        match self {
            Self::Socket(_) => "localhost",
            Self::Tcp(host) => host,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => write!(f, "{}", path.display()),
            Self::Tcp(host) => write!(f, "http://{host}"),
        }
    }
}

/// The token for a node over TCP, from the file that `MESHLOCK_TOKEN_FILE` names.
pub(crate) fn token_from_environment() -> Result<Option<String>, Error> {
    std::env::var_os("MESHLOCK_TOKEN_FILE").filter(|file| !file.is_empty()).map(|file| read_token(&file)).transpose()
}

fn read_token(file: &OsStr) -> Result<String, Error> {
    let token = std::fs::read_to_string(file).map(|text| text.trim().to_owned());
    token.map_err(|error| Error::Address(format!("MESHLOCK_TOKEN_FILE={}: {error}", file.to_string_lossy())))
}

fn wrong(text: &str) -> Error {
    Error::Address(format!("{text:?} is no address of a node: write http://host:port or unix:/path/of/the.sock"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_from_its_file() {
        let file = std::env::temp_dir().join(format!("meshlock-token-{}", std::process::id()));
        std::fs::write(&file, "secret\n").expect("writable");
        assert_eq!(read_token(file.as_os_str()).expect("readable"), "secret");
        std::fs::remove_file(&file).expect("removable");
        let error = read_token(file.as_os_str()).expect_err("missing").to_string();
        assert!(error.contains("MESHLOCK_TOKEN_FILE") && error.contains("meshlock-token-"), "{error}");
    }

    #[test]
    fn addresses_are_read_and_nonsense_is_refused() {
        let socket = |path: &str| Address::Socket(path.into());
        for (text, address) in [
            ("unix:/run/m.sock", socket("/run/m.sock")),
            ("unix:///run/m.sock", socket("/run/m.sock")),
            ("http://robot:7700", Address::Tcp("robot:7700".into())),
            ("http://[::1]:7700/", Address::Tcp("[::1]:7700".into())),
        ] {
            assert_eq!(Address::parse(text).expect(text), address);
        }
        for bad in [
            "",
            "robot",
            "http://",
            "http://robot",
            "http://:1",
            "http://a:99999",
            "https://a:1",
            "unix:",
            "http://a/b:1",
        ] {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
    }
}
