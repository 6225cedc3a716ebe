//! How a node asks the whole network, and answers; [`questions`](super::questions) has what it remembers.

use alloc::vec;
use alloc::vec::Vec;

use super::message::Body;
use super::node::{Effects, FREE_TURNS, Node};
use super::questions::{About, Inquiry, News, Novelty};
use super::rules::Rules;
use crate::vocabulary::NodeId;

impl Node {
    /// Opens a question of this node.
    pub(super) fn inquire(&mut self, about: About, out: &mut Effects) {
        let news = self.questions.open(self.config.id, about);
        self.broadcast(Body::News(vec![news]), out);
    }

    pub(super) fn on_news(&mut self, from: NodeId, news: Vec<News>, out: &mut Effects) {
        let mut fresh = Vec::new();
        let mut answers = Vec::new();
        for item in news {
            if self.census.is_gone(item.origin) {
                continue;
            }
            match self.questions.novelty(&item) {
                Novelty::New => {
                    let answered = self.questions.wants_to_know(item.origin);
                    self.questions.record(item);
                    fresh.push(item);
                    if (answered, item.inquiry) == (Some(About::Where), Inquiry::Confirmed) {
                        self.free_turns = FREE_TURNS;
                    }
                    if let Some(about) = answered.filter(|_| item.origin == self.config.id) {
                        self.on_answer(about, item.inquiry, out);
                    }
                }
                Novelty::Answered(answer) => answers.push(answer),
                Novelty::Old => {}
            }
        }
        if !fresh.is_empty() {
            self.tell_others(from, &fresh, out);
        }
        if !answers.is_empty() {
            self.send(from, Body::News(answers), out);
        }
    }

    /// An answer to a question of this node.
    fn on_answer(&mut self, about: About, answer: Inquiry, out: &mut Effects) {
        match (about, answer) {
            (About::Where, _) => self.raise_if_lowest(out),
            (About::Pass { .. }, Inquiry::Denied) => self.recover_token(out),
            (About::Pass { .. }, Inquiry::Confirmed | Inquiry::Open(_)) => self.limbo = None,
        }
    }

    /// Answers what this node can answer, and what it has found out itself.
    pub(super) fn answer_questions(&mut self, out: &mut Effects) {
        let mut answers = Vec::new();
        // One at a time: to promise something is to learn something, which may answer the next.
        while let Some(answer) = self.next_answer() {
            self.questions.record(answer);
            answers.push(answer);
        }
        if !answers.is_empty() {
            self.broadcast(Body::News(answers), out);
        }
    }

    fn next_answer(&mut self) -> Option<News> {
        let open: Vec<News> = self.questions.open_ones().collect();
        open.into_iter().find_map(|news| {
            let Inquiry::Open(about) = news.inquiry else { return None };
            self.answer(about).map(|inquiry| News { inquiry, ..news })
        })
    }

    fn answer(&mut self, about: About) -> Option<Inquiry> {
        match about {
            About::Where => self.token.is_some().then_some(Inquiry::Confirmed),
            About::Pass { pass, .. } if self.decided >= pass => Some(Inquiry::Confirmed),
            About::Pass { pass, to } if to == self.config.id => {
                self.promise_to_refuse(pass);
                Some(Inquiry::Denied)
            }
            About::Pass { .. } => None,
        }
    }

    /// News of a question of ours that we never asked.
    pub(super) fn is_forged(&self, item: &News) -> bool {
        item.origin == self.config.id && item.number > self.questions.known_number(item.origin)
    }
}
