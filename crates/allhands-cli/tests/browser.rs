//! Reports in a browser: nothing is asked for, nothing complains, and nothing is wider than a telephone.
//!
//! A page that holds the report in a frame as wide as a screen looks at what is in it; the report itself is as it was written.

#[path = "pages/made_up.rs"]
mod made_up;

use made_up::{allhands, folder, name, text, write_all};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// What is looked at in the frame, of which `WIDTH` and `PAGE` are put in: what sticks out of the window, but for what is in a box
/// that scrolls; words that stick out of their picture; and what was asked of a network.
const LOOK: &str = r#"<!DOCTYPE html><meta charset="utf-8"><body style="margin:0"><pre id="found">nothing yet</pre><script>
const page = PAGE;
const frame = document.createElement('iframe');
frame.style = 'width:WIDTHpx;height:800px;border:0';
frame.onload = () => {
  const it = frame.contentDocument, wide = [], cut = [];
  for (const details of it.querySelectorAll('details')) details.open = true;
  for (const element of it.body.querySelectorAll('*')) {
    const box = element.getBoundingClientRect();
    const scrolls = element.parentElement.closest('.scroll');
    if (!scrolls && box.width > 0 && (box.right > WIDTH + 0.5 || box.left < -0.5))
      wide.push(element.tagName + ' ' + element.textContent.slice(0, 60) + ' ' + box.right);
  }
  for (const words of it.querySelectorAll('svg text')) {
    const box = words.getBoundingClientRect(), all = words.ownerSVGElement.getBoundingClientRect();
    if (box.right > all.right + 1 || box.left < all.left - 1 || box.bottom > all.bottom + 1 || box.top < all.top - 1)
      cut.push(words.textContent);
  }
  const window = frame.contentWindow;
  const asked = window.performance.getEntriesByType('resource').map(entry => entry.name);
  document.getElementById('found').textContent = 'FOUND' + JSON.stringify({
    width: it.documentElement.scrollWidth, figures: it.querySelectorAll('figure svg').length,
    tables: it.querySelectorAll('.scroll table').length, words: it.body.innerText.length, wide, cut, asked,
    background: window.getComputedStyle(it.body).backgroundColor
  }) + 'END';
};
frame.srcdoc = page;
document.body.append(frame);
</script>"#;

/// Whether there is a browser; where nothing may be skipped it is an error if there is none.
fn has_browser() -> bool {
    let is_there = Command::new("chromium").arg("--version").output().is_ok();
    let must_be = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(
        is_there || !must_be,
        "chromium is missing, and CI=true allows no skips"
    );
    if !is_there {
        eprintln!("skipped: chromium is missing");
    }
    is_there
}

/// What the browser prints of a file, and what it says besides.
fn browse(folder: &Path, file: &Path, more: &[&str]) -> (String, String) {
    let user = folder.join("user");
    let output = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--disable-background-networking",
        ])
        .args([
            "--enable-logging=stderr",
            "--window-size=1400,1000",
            "--virtual-time-budget=20000",
        ])
        .arg(format!("--user-data-dir={}", user.display()))
        .args(more)
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("chromium runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

/// What there is to see of a page on a screen so wide.
fn look(folder: &Path, page: &str, width: u32, more: &[&str]) -> Value {
    // No text may end the script that has it.
    let page = serde_json::to_string(page)
        .expect("it is text")
        .replace("</", "<\\/");
    let look = LOOK
        .replace("WIDTH", &width.to_string())
        .replace("PAGE", &page);
    let file = folder.join("look.html");
    std::fs::write(&file, look).expect("it can be written");
    let (dom, said) = browse(folder, &file, &[&["--dump-dom"], more].concat());
    let found = dom
        .split_once(">FOUND")
        .and_then(|(_, rest)| rest.split_once("END<"));
    let (found, _) = found.unwrap_or_else(|| panic!("nothing was found: {said}"));
    let found = found
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    let mut found: Value = serde_json::from_str(&found).expect("it is JSON");
    let complaints = said.lines().filter(|line| line.contains("CONSOLE"));
    found["complaints"] = complaints.collect::<Vec<_>>().into();
    found
}

#[test]
fn a_report_is_readable_everywhere_and_asks_for_nothing() {
    if !has_browser() {
        return;
    }
    let folder = folder("browser");
    let files = write_all(&folder);
    let path = name(&folder, "report.html");
    let mut arguments = vec!["report", "-o", &path, "--machine", &files[0]];
    arguments.extend(files[1..].iter().map(String::as_str));
    let output = allhands(&arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = std::fs::read_to_string(&path).expect("it is written");
    let mut grounds = Vec::new();
    for (width, more) in [
        (360, &[][..]),
        (1280, &["--blink-settings=preferredColorScheme=0"]),
    ] {
        let found = look(&folder, &page, width, more);
        assert_eq!(found["width"], width, "{found}");
        for none in ["wide", "cut", "asked", "complaints"] {
            assert_eq!(found[none], Value::Array(Vec::new()), "{none}");
        }
        assert!(found["figures"].as_u64() > Some(10), "{found}");
        assert!(
            found["tables"].as_u64() > found["figures"].as_u64(),
            "{found}"
        );
        assert!(found["words"].as_u64() > Some(5000), "{found}");
        grounds.push(found["background"].clone());
    }
    assert_eq!(grounds, ["rgb(255, 255, 255)", "rgb(21, 24, 29)"]);
    // What would be wrong is found: the test can fail.
    let wrong = "<main><div style=\"width:400px\">too wide</div><img src=\"http://127.0.0.1:9/none.png\" alt=\"\">";
    let wrong = page.replace(
        "<main>",
        &format!("{wrong}<script>console.error('a complaint')</script>"),
    );
    let found = look(&folder, &wrong, 360, &[]);
    for (of, what) in [
        ("wide", "too wide"),
        ("asked", "none.png"),
        ("complaints", "a complaint"),
    ] {
        assert!(found[of].to_string().contains(what), "{what}: {found}");
    }
}

#[test]
fn a_report_is_printed() {
    if !has_browser() {
        return;
    }
    let folder = folder("browser-print");
    let path = name(&folder, "report.html");
    let report = [
        "report",
        "--machine",
        "loggp",
        "-n",
        "2,4",
        "--bytes",
        "8,4K",
        "-o",
        &path,
    ];
    let output = allhands(&report);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let print = format!("--print-to-pdf={}", name(&folder, "report.pdf"));
    browse(&folder, Path::new(&path), &[&print]);
    let pdf = std::fs::read(folder.join("report.pdf")).expect("it is printed");
    assert!(
        pdf.starts_with(b"%PDF") && pdf.len() > 20_000,
        "{}",
        pdf.len()
    );
}
