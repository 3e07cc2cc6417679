//! A tree, drawn with lines.

pub(super) struct Tree {
    pub(super) label: String,
    pub(super) branches: Vec<Tree>,
}

impl Tree {
    pub(super) fn leaf(label: String) -> Self {
        Self {
            label,
            branches: Vec::new(),
        }
    }

    pub(super) fn draw(&self) -> String {
        let mut text = format!("{}\n", self.label);
        self.draw_branches("", &mut text);
        text
    }

    fn draw_branches(&self, indent: &str, text: &mut String) {
        let last = self.branches.len().saturating_sub(1);
        for (at, branch) in self.branches.iter().enumerate() {
            let (line, below) = match at == last {
                true => ("└── ", "    "),
                false => ("├── ", "│   "),
            };
            text.push_str(&format!("{indent}{line}{}\n", branch.label));
            branch.draw_branches(&format!("{indent}{below}"), text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_connected() {
        let tree = Tree {
            label: "root".to_owned(),
            branches: vec![
                Tree {
                    label: "one".to_owned(),
                    branches: vec![Tree::leaf("below".to_owned())],
                },
                Tree::leaf("two".to_owned()),
            ],
        };
        assert_eq!(tree.draw(), "root\n├── one\n│   └── below\n└── two\n");
    }
}
