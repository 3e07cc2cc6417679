//! Precedence, what is enabled, and what is forbidden: from arguments to a request.

use std::collections::BTreeMap;

use clap::Parser;
use schedkit_image::catalog::{Cache, CatalogUrl, Location, Source};
use schedkit_image::registry::{Credentials, Proxies};
use schedkit_image::signature::VerdictStore;

use super::*;
use crate::audit_log::AuditLog;
use crate::settings::environment::User;
use crate::settings::{Origin, Setting};

fn environment(catalog: Option<&str>, policy: Option<&str>) -> Environment {
    Environment {
        catalog: catalog.map(str::to_owned),
        config: None,
        registry_config: None,
        trust_policy: policy.map(PathBuf::from),
        driver: None,
        socket: None,
        log_level: None,
        allow_unsigned: false,
        cache: Setting::new(Cache::Off, Origin::Default),
        logins: Credentials::none(),
        helper_folders: Vec::new(),
        proxies: Proxies::default(),
        max_root_age: None,
        user: User::Other(1000),
        state: None,
        for_boot: BTreeMap::new(),
        notify_socket: None,
    }
}

fn config(path: Option<&str>) -> ConfigFile {
    ConfigFile {
        catalog: path.map(|path| Location::File(path.into())),
        trust_policy: path.map(PathBuf::from),
        ..ConfigFile::default()
    }
}

fn request(flags: &str, environment: Environment, config: ConfigFile) -> Request {
    let line = format!("schedctl verify x {flags}");
    let args = Args::try_parse_from(line.split_whitespace()).unwrap();
    Request::new(args, environment, config, None).unwrap()
}

#[test]
fn precedence_is_flag_environment_file_default() {
    let both = "--catalog flag --trust-policy flag";
    for (flags, variable, file, winner) in [
        (both, Some("variable"), Some("file"), Some("flag")),
        ("", Some("variable"), Some("file"), Some("variable")),
        ("", None, Some("file"), Some("file")),
        ("", None, None, None),
    ] {
        let request = request(flags, environment(variable, variable), config(file));
        let source = match winner {
            Some(path) => Source::Given(Location::File(path.into())),
            None => Source::Published(CatalogUrl::published()),
        };
        assert_eq!(request.settings.catalog.value, source);
        let path = winner.map(PathBuf::from);
        let policy = path.map_or_else(PolicySource::default, PolicySource::File);
        let Command::Verify(name, used) = request.command else {
            panic!("{:?}", request.command);
        };
        assert_eq!((name.as_str(), used), ("x", policy));
    }
}

fn enabled(allow_unsigned: bool) -> EnabledScheduler {
    let reference: schedkit_core::ImageRef = "a.example/team/one:1.0".parse().unwrap();
    let digest = format!("sha256:{}", "a".repeat(64)).parse().unwrap();
    EnabledScheduler {
        scheduler: "scx_one".to_owned(),
        catalog_name: Some("scx_one".to_owned()),
        image: schedkit_core::PinnedRef::new(reference.repository().clone(), digest),
        reference,
        args: vec!["--fast".to_owned()],
        allow_unsigned,
        environment: BTreeMap::new(),
    }
}

#[test]
fn a_unit_starts_what_was_enabled() {
    let start = |line: &str, enabled| {
        let args = Args::try_parse_from(line.split(' ')).unwrap();
        let request = Request::new(args, environment(None, None), config(None), enabled);
        let Command::Start(start) = request.unwrap().command else {
            panic!("{line}");
        };
        start
    };
    let unit = "schedctl run --attach --enabled scx_one";
    let plain = start(unit, None);
    assert!(plain.image.enabled.is_none());
    assert_eq!(plain.pull, args::PullPolicy::Always);

    let kept = start(unit, Some(enabled(true)));
    let image = kept.image.enabled.as_ref().unwrap();
    assert_eq!(
        (&image.pin, &image.reference),
        (&enabled(true).image, &enabled(true).reference)
    );
    assert_eq!(image.catalog_name.as_deref(), Some("scx_one"));
    assert_eq!(kept.args, ["--fast"]);
    assert_eq!(kept.pull, args::PullPolicy::Missing);
    assert!(kept.image.trust.waiver.is_some());
    assert!(
        start(unit, Some(enabled(false)))
            .image
            .trust
            .waiver
            .is_none()
    );

    // The waiver is for the image that was enabled.
    let other = start(&format!("{unit} --version 2.0"), Some(enabled(true)));
    assert!(other.image.enabled.is_none());
    assert_eq!(other.image.trust.waiver, None);

    let edited = format!("{unit} --pull never -- --slow");
    let edited = start(&edited, Some(enabled(false)));
    assert_eq!(edited.args, ["--slow"]);
    assert_eq!(edited.pull, args::PullPolicy::Never);
}

#[test]
fn what_is_forbidden_is_refused_before_anything_is_asked() {
    let file = || ConfigFile {
        restrictions: ConfigFile::parse("forbid = [\"allow-unsigned\", \"trust-policy\"]")
            .unwrap()
            .own_restrictions(),
        ..ConfigFile::default()
    };
    let result = |line: &str, environment, enabled| {
        let args = Args::try_parse_from(line.split(' ')).unwrap();
        Request::new(args, environment, file(), enabled).map(|_| ())
    };
    let plain = || environment(None, None);
    for command in ["run", "switch", "pull", "enable"] {
        let line = format!("schedctl {command} scx_a");
        assert_eq!(result(&line, plain(), None), Ok(()));
        for flags in ["--allow-unsigned", "--trust-policy /t.yaml"] {
            let refused = result(&format!("{line} {flags}"), plain(), None);
            let Err(RequestError::Forbidden { asked, .. }) = refused else {
                panic!("{line} {flags}: {refused:?}");
            };
            assert_eq!(asked.as_deref(), Some("scx_a"));
        }
        let mut unsigned = plain();
        unsigned.allow_unsigned = true;
        result(&line, unsigned, None).unwrap_err();
        result(&line, environment(None, Some("/t.yaml")), None).unwrap_err();
    }
    // A unit that was enabled before this was forbidden.
    let unit = "schedctl run --attach --enabled scx_one";
    result(unit, plain(), Some(enabled(true))).unwrap_err();
    assert_eq!(result(unit, plain(), Some(enabled(false))), Ok(()));
    let dry_run = "schedctl run scx_a --allow-unsigned --dry-run";
    let dry_run = result(dry_run, plain(), None);
    assert!(matches!(
        dry_run,
        Err(RequestError::Forbidden { asked: None, .. })
    ));
    // It starts nothing.
    assert_eq!(
        result("schedctl verify x --trust-policy /t.yaml", plain(), None),
        Ok(())
    );
}

/// A verdict there may be forged, and a log there removed.
#[test]
fn who_has_to_obey_rules_does_not_choose_where_verdicts_are() {
    let settings = |rules: &str| {
        let environment = Environment {
            user: User::Root,
            state: Some("/home/me/state".into()),
            ..environment(None, None)
        };
        let file = ConfigFile {
            restrictions: ConfigFile::parse(rules).unwrap().own_restrictions(),
            ..ConfigFile::default()
        };
        let args = Args::try_parse_from(["schedctl", "run", "scx_a"]).unwrap();
        Request::new(args, environment, file, None)
            .unwrap()
            .settings
    };
    for (rules, verdicts, audit) in [
        ("", "/home/me/state/verdicts", "/home/me/state/audit.log"),
        (
            "forbid = [\"allow-unsigned\"]",
            "/var/lib/schedctl/verdicts",
            "/var/log/schedctl/audit.log",
        ),
    ] {
        let settings = settings(rules);
        assert_eq!(settings.verdicts, Some(VerdictStore::at(verdicts, 0)));
        assert_eq!(settings.audit, Some(AuditLog::at(audit)));
    }
}

#[test]
fn the_settings_of_enable_are_kept_as_variables() {
    let mut environment = environment(None, None);
    environment.socket = Some("/p.sock".into());
    environment.for_boot = BTreeMap::from([
        ("SCHEDCTL_SOCKET".to_owned(), "/p.sock".to_owned()),
        ("HTTPS_PROXY".to_owned(), "http://p:1".to_owned()),
    ]);
    let line = "schedctl enable x -d containerd --trust-policy /t.yaml --registry-config a.json";
    let args = Args::try_parse_from(line.split(' ')).unwrap();
    let file = config(Some("/file"));
    let request = Request::new(args, environment, file, None).unwrap();
    let Command::Enable(enable) = &request.command else {
        panic!("{:?}", request.command);
    };
    let kept = request.settings.for_boot(&enable.image.trust.policy);
    let here = std::env::current_dir().unwrap().join("a.json");
    let expected = [
        ("HTTPS_PROXY", "http://p:1"),
        ("SCHEDCTL_DRIVER", "containerd"),
        ("SCHEDCTL_REGISTRY_CONFIG", here.to_str().unwrap()),
        ("SCHEDCTL_TRUST_POLICY", "/t.yaml"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(kept, BTreeMap::from(expected));
}

#[test]
fn an_invalid_catalog_is_reported_with_its_origin() {
    let args = Args::try_parse_from(["schedctl", "list"]).unwrap();
    let environment = environment(Some("ftp://a/b"), None);
    let error = Request::new(args, environment, config(None), None).unwrap_err();
    assert_eq!(error.to_string(), "SCHEDCTL_CATALOG cannot be used");
}

#[test]
fn an_invalid_scheduler_name_is_an_error_before_waiting() {
    let args = Args::try_parse_from(["schedctl", "wait", "--attached", "a/b"]).unwrap();
    let error = Request::new(args, environment(None, None), config(None), None).unwrap_err();
    assert_eq!(error.to_string(), "\"a/b\" is not a scheduler's name");
}
