//! The environment: `MESHLOCK_LISTEN` is `listen` of `[node]`, and so on. The list is that of [`KEYS`].

use super::keys::{KEYS, Shape};
use super::{Settings, SettingsError};

impl Settings {
    /// Reads variables of the environment. Empty ones count as missing.
    ///
    /// Others that begin with `MESHLOCK_` are left alone: a command run under a lock gets some from us.
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let mut all = Self::default();
        for key in KEYS {
            let Some(name) = key.variable else { continue };
            let Some(value) = variable(name).filter(|value| !value.is_empty()) else { continue };
            let value = match key.shape {
                Shape::Text => toml::Value::from(value),
                Shape::Texts => {
                    let parts = value.split(',').map(str::trim).filter(|part| !part.is_empty());
                    toml::Value::from(parts.map(toml::Value::from).collect::<Vec<_>>())
                }
                Shape::Switch => toml::Value::from(switch(name, &value)?),
                Shape::Number => toml::Value::from(value.parse::<u32>().map_err(|_| {
                    SettingsError(format!("{name}: {value:?} is no number; give one from 0 to 4294967295"))
                })?),
            };
            let table = toml::Table::from_iter([(key.name.to_owned(), value)]);
            let table = toml::Table::from_iter([(key.section.to_owned(), toml::Value::from(table))]);
            let one: Self = table.try_into().map_err(|error: toml::de::Error| {
                SettingsError(format!("{name}: {}", error.message().lines().next().unwrap_or_default()))
            })?;
            all = one.over(all);
        }
        Ok(all)
    }
}

fn switch(name: &str, value: &str) -> Result<bool, SettingsError> {
    match value {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err(SettingsError(format!("{name}: {value:?} is neither true nor false"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        let find =
            |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned());
        Settings::from_environment(find)
    }

    #[test]
    fn variables_are_keys() {
        let settings = read(&[
            ("MESHLOCK_LISTEN", "127.0.0.1:9"),
            ("MESHLOCK_PEERS", "a:1, b:2,"),
            ("MESHLOCK_DISCOVERY", "off"),
            ("MESHLOCK_LOSS_AFTER", "500ms"),
            ("MESHLOCK_MAX_CLIENTS", "7"),
            ("MESHLOCK_LOG", ""),
            ("MESHLOCK_FENCE", "17"),
        ])
        .unwrap();
        let file = "[node]\nlisten = \"127.0.0.1:9\"\npeers = [\"a:1\", \"b:2\"]\ndiscovery = false\n\
                    loss-after = \"500ms\"\n[api]\nmax-clients = 7";
        assert_eq!(settings, Settings::from_toml("", file).unwrap());
    }

    #[test]
    fn a_wrong_variable_is_named() {
        for (name, value) in [
            ("MESHLOCK_DISCOVERY", "perhaps"),
            ("MESHLOCK_LOSS_AFTER", "soon"),
            ("MESHLOCK_MAX_CLIENTS", "-1"),
            ("MESHLOCK_LOG_FORMAT", "xml"),
        ] {
            let error = read(&[(name, value)]).expect_err("wrong").to_string();
            assert!(error.starts_with(name), "{error}");
        }
    }
}
