//! The machine trusts the lab's key and nobody else.

use crate::ground::{machine, timed};

#[test]
fn what_the_lab_signed_is_accepted_by_name_and_by_tag() {
    let machine = machine();
    for image in ["scx_lab", "scx_bpfland"] {
        let verify = || machine.json(&["verify", image]);
        let (code, said) = timed(&format!("schedctl verify {image}"), verify);
        assert_eq!((code, &said["verdict"]), (0, &"accepted".into()), "{said}");
    }
    for image in ["scx_lab:1.0.0", "scx_lab:stall"] {
        let (code, said) = machine.json(&["verify", &machine.image(image)]);
        assert_eq!((code, &said["verdict"]), (0, &"accepted".into()), "{said}");
        let digest = said["digest"].as_str().unwrap_or_default();
        assert!(digest.starts_with("sha256:"), "{said}");
    }
}

#[test]
fn what_nobody_signed_is_refused_until_it_is_signed() {
    let machine = machine();
    machine.push("nobody/scx_lab", "1.0.0", "amd64", &["/scx_lab"]);
    let verify = || machine.json(&["verify", &machine.image("nobody/scx_lab:1.0.0")]);
    let (code, said) = verify();
    assert_eq!((code, &said["verdict"]), (3, &"refused".into()), "{said}");
    machine.host().sign_all("nobody/scx_lab").unwrap();
    let (code, said) = verify();
    assert_eq!((code, &said["verdict"]), (0, &"accepted".into()), "{said}");
}
