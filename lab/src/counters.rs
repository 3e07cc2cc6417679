//! Parses counters from the text of a program's `/metrics`. Tests use it to count the requests that
//! an API server has served.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter<'a> {
    labels: &'a str,
    pub count: u64,
}

impl<'a> Counter<'a> {
    /// The value of a label; empty if there is none.
    pub fn label(&self, name: &str) -> &'a str {
        let labels = self.labels.strip_suffix('"').unwrap_or(self.labels);
        let labels = labels.split("\",");
        let mut named = labels.filter_map(|label| label.split_once("=\""));
        named
            .find(|(label, _)| *label == name)
            .map_or("", |(_, value)| value)
    }
}

/// All lines of the counter `name`.
pub fn counters<'a>(metrics: &'a str, name: &'a str) -> impl Iterator<Item = Counter<'a>> {
    let line = move |line: &'a str| {
        let rest = line.strip_prefix(name)?.strip_prefix('{')?;
        let (labels, count) = rest.rsplit_once("} ")?;
        let count = count.parse::<f64>().ok()? as u64;
        Some(Counter { labels, count })
    };
    metrics.lines().filter_map(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_found_by_its_whole_name() {
        let text = "# TYPE asked counter\n\
                    asked{code=\"200\",subresource=\"status\",resource=\"nodes\",group=\"\"} 3\n\
                    asked_longer{code=\"200\"} 9\n\
                    asked{resource=\"pods\"} 1.2e+03\n";
        let all: Vec<_> = counters(text, "asked").collect();
        let values = |counter: &Counter<'_>| {
            let [resource, part] =
                ["resource", "subresource"].map(|name| counter.label(name).to_owned());
            (resource, part, counter.count)
        };
        let expected = [("nodes", "status", 3), ("pods", "", 1200)]
            .map(|(resource, part, count)| (resource.to_owned(), part.to_owned(), count));
        assert_eq!(all.iter().map(values).collect::<Vec<_>>(), expected);
        assert_eq!(all[0].label("group"), "");
    }
}
