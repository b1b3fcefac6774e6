//! Tests of the expert system: the rules of the tree ([`standard`]), when advice is followed ([`decisions`]), and files of rules ([`files`]).

mod decisions;
mod files;
mod standard;
