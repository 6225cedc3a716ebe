//! Pages are read back by an XML parser, since they are written so that one can.

use roxmltree::{Document, Node, ParsingOptions};

use super::{Block, Page};
use crate::table::{Cell, Column, Table};

fn parse(html: &str) -> Document<'_> {
    Document::parse_with_options(html, ParsingOptions { allow_dtd: true, ..ParsingOptions::default() }).unwrap()
}

fn all<'a>(document: &'a Document<'a>, tag: &str) -> Vec<Node<'a, 'a>> {
    document.descendants().filter(|node| node.tag_name().name() == tag).collect()
}

fn words(node: Node<'_, '_>) -> String {
    node.descendants().filter(Node::is_text).filter_map(|text| text.text()).collect()
}

fn page(blocks: Vec<Block>) -> String {
    Page { title: "A <title>".to_owned(), subtitle: String::new(), blocks }.html()
}

fn heading(level: u8, text: &str) -> Block {
    Block::Heading(level, text.to_owned())
}

#[test]
fn no_text_becomes_markup_wherever_it_stands() {
    let bad = "<script>alert('1')</script> & \"quoted\"".to_owned();
    let table = Table {
        columns: vec![Column { name: bad.clone(), numeric: false }],
        rows: vec![
            vec![Cell::Text(bad.clone())],
            vec![Cell::Code(bad.clone())],
            vec![Cell::Verdict { good: false, text: bad.clone() }],
        ],
    };
    let html = Page {
        title: bad.clone(),
        subtitle: bad.clone(),
        blocks: vec![
            heading(1, &bad),
            heading(1, &bad),
            Block::Paragraph(bad.clone()),
            Block::List(vec![bad.clone()]),
            Block::Table { caption: bad.clone(), table },
            Block::Figure { svg: "<svg/>".to_owned(), caption: bad.clone() },
            Block::Code(bad.clone()),
            Block::Details { summary: bad.clone(), blocks: vec![Block::Paragraph(bad.clone())] },
        ],
    }
    .html();
    let document = parse(&html);
    assert_eq!(all(&document, "script").len(), 0);
    // Title twice, subtitle, two headings and their links, and one each in all other places.
    let said = words(document.root_element()).matches(&bad).count();
    assert_eq!(said, 2 + 1 + 4 + 2 + 5 + 1 + 1 + 2);
}

#[test]
fn the_contents_lead_to_every_section_in_order() {
    let html = page(vec![
        heading(2, "Waiting time"),
        heading(3, "By `priority`"),
        heading(4, "Deep"),
        Block::Details { summary: "more".to_owned(), blocks: vec![heading(2, "Hidden")] },
        heading(2, "Hidden"),
        heading(2, "Waiting time"),
    ]);
    let document = parse(&html);
    let links: Vec<_> =
        all(&document, "a").into_iter().map(|link| (link.attribute("href").unwrap(), words(link))).collect();
    let expected = [
        ("#waiting-time", "Waiting time"),
        ("#by-priority", "By priority"),
        ("#hidden-2", "Hidden"),
        ("#waiting-time-2", "Waiting time"),
    ];
    assert_eq!(links, expected.map(|(target, text)| (target, text.to_owned())));
    let ids: Vec<_> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    assert_eq!(ids, ["waiting-time", "by-priority", "deep", "hidden", "hidden-2", "waiting-time-2"]);
    assert_eq!(all(&document, "h1").len(), 1, "the title alone");
    assert_eq!(all(&document, "h2").len(), 4);
    assert_eq!(all(&document, "h3").len(), 1);
}

#[test]
fn a_page_without_sections_has_no_contents() {
    let html = page(vec![heading(1, "Only one"), Block::Paragraph("text".to_owned())]);
    assert_eq!(all(&parse(&html), "nav").len(), 0);
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let html = page(vec![Block::Paragraph("[out](https://example.org)".to_owned())]);
    let document = parse(&html);
    for node in document.descendants() {
        assert!(!["link", "script", "img", "iframe"].contains(&node.tag_name().name()));
        assert_eq!(node.attribute("src"), None);
    }
    let style = words(all(&document, "style")[0]);
    assert!(!style.contains("url(") && !style.contains("@import"));
}

#[test]
fn cells_are_aligned_and_marked_by_what_they_are() {
    let column = |name: &str, numeric| Column { name: name.to_owned(), numeric };
    let table = Table {
        columns: vec![column("name", false), column("value", true)],
        rows: vec![
            vec![Cell::Text("wait".to_owned()), Cell::Estimate { mean: 12.34, half_width: 0.41 }],
            vec![Cell::Verdict { good: true, text: "holds".to_owned() }, Cell::Number(f64::NAN)],
            vec![Cell::Code("x < y".to_owned())],
        ],
    };
    let html = page(vec![Block::Table { caption: "Results".to_owned(), table }]);
    let document = parse(&html);
    let cells: Vec<_> = all(&document, "td").into_iter().map(|cell| (words(cell), cell.attribute("class"))).collect();
    let number = Some("number");
    let expected =
        [("wait", None), ("12.3 ± 0.4", number), ("✓\u{a0}holds", None), ("–", number), ("x < y", None), ("", number)];
    assert_eq!(cells, expected.map(|(text, class)| (text.to_owned(), class)));
    let verdict = document.descendants().find(|node| node.attribute("class") == Some("verdict good"));
    assert!(verdict.is_some());
    assert_eq!(words(all(&document, "figcaption")[0]), "Results");
}
