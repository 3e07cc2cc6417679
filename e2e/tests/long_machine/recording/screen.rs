//! The text that is on a terminal at the end of a recording, as if it had any number of lines of any
//! length. Knows what bash, schedctl and progress lines write, and fails on anything else.

#[derive(Default)]
struct Screen {
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
}

pub(super) fn text(output: &str) -> String {
    let mut screen = Screen::default();
    let mut rest = output.chars();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => screen.escape(&mut rest),
            '\r' => screen.column = 0,
            '\n' => screen.row += 1,
            '\u{8}' => screen.column = screen.column.saturating_sub(1),
            '\u{7}' => {}
            '\t' => screen.column = (screen.column / 8 + 1) * 8,
            other => screen.put(other),
        }
    }
    let lines = screen.lines.iter().map(|line| {
        let line: String = line.iter().collect();
        line.trim_end().to_owned() + "\n"
    });
    lines.collect()
}

impl Screen {
    fn line(&mut self) -> &mut Vec<char> {
        if self.lines.len() <= self.row {
            self.lines.resize(self.row + 1, Vec::new());
        }
        &mut self.lines[self.row]
    }

    fn put(&mut self, character: char) {
        let column = self.column;
        let line = self.line();
        if line.len() <= column {
            line.resize(column + 1, ' ');
        }
        line[column] = character;
        self.column += 1;
    }

    /// ECMA-48's control sequences, and xterm's settings, which show nothing.
    fn escape(&mut self, rest: &mut impl Iterator<Item = char>) {
        match rest.next() {
            Some('[') => {}
            Some(']') => {
                rest.find(|end| *end == '\u{7}');
                return;
            }
            other => panic!("ESC {other:?} is not known"),
        }
        let mut parameters = String::new();
        let last = rest.find(|character| {
            let ends = ('@'..='~').contains(character);
            if !ends {
                parameters.push(*character);
            }
            ends
        });
        let number = parameters.parse().unwrap_or(1);
        let column = self.column;
        match (last, parameters.as_str()) {
            (Some('m' | 'h' | 'l'), _) => {}
            (Some('A'), _) => self.row = self.row.saturating_sub(number),
            (Some('B'), _) => self.row += number,
            (Some('C'), _) => self.column += number,
            (Some('D'), _) => self.column = column.saturating_sub(number),
            (Some('G'), _) => self.column = number - 1,
            (Some('K'), "" | "0") => self.line().truncate(column),
            (Some('K'), "2") => self.line().clear(),
            (Some('J'), "" | "0") => {
                self.line().truncate(column);
                self.lines.truncate(self.row + 1);
            }
            other => panic!("ESC [ {other:?} is not known"),
        }
    }
}

#[test]
fn what_was_overwritten_and_erased_is_not_shown() {
    for (output, expected) in [
        ("# ab\u{8}c\r\nd\r\n", "# ac\nd\n"),
        ("\u{1b}[32m⠁\u{1b}[0m pull\r\u{1b}[2Kdone\r\n", "done\n"),
        ("a\r\nb\r\n\u{1b}[2A\u{1b}[Jc", "c\n"),
        (
            "\u{1b}]0;title\u{7}\u{1b}[?2004la\tb  \u{1b}[K",
            "a       b\n",
        ),
        ("abc\u{1b}[2D\u{1b}[K\u{1b}[1Cd", "a d\n"),
    ] {
        assert_eq!(text(output), expected, "{output:?}");
    }
}
