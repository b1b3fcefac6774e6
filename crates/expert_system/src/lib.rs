//! The expert system: which method of concurrency control suits what a site does, and when to go over to it.
//!
//! Facts about a load go in, one window of time after another; advice comes out, and now and then a decision. It has no clock: the time comes with each
//! window. It must not know how facts are found, or how a method is switched. In reading order:
//!
//! * [`fact`]: what rules speak of;
//! * [`rule_book`]: rules as data, and their file; [`rule_text`]: how the file is read, and what is said of a bad one;
//! * [`advice`]: how far each method is believed in, after MYCIN;
//! * [`expert`]: when that is followed: patience, pauses, probation, and a bound on switches;
//! * [`limits`] names the bounds.
//!
//! Sources: Bhargava, Riedl, "The Raid Distributed Database System" (1989), section 4.5 (an expert system that advises when to switch); Shortliffe,
//! Buchanan, "A Model of Inexact Reasoning in Medicine" (1975), for belief.

pub mod advice;
pub mod expert;
pub mod fact;
pub mod limits;
pub mod rule_book;
pub mod rule_text;

pub use advice::{Advice, Firing, Opinion};
pub use expert::{Decision, Expert, LoadWindow, WindowOutcome};
pub use fact::{Fact, Findings};
pub use rule_book::{Condition, ExpertRule, RuleBook};
pub use rule_text::RuleBookError;
