//! Stacks for deep trees.

use crate::chains::Depths;
use crate::limits::{SHALLOW, STACK_BYTES, STACK_LEFT_MIN, STEP_BYTES_MAX};
use std::ops::{Deref, DerefMut};

/// Runs `work` on a tree of so many levels, where the stack suffices for it.
pub fn on_stack<T>(levels: usize, work: impl FnOnce() -> T) -> T {
    // The libraries take more stack by themselves in some functions only; between two of those they may use a lot.
    recursive::set_minimum_stack_size(STEP_BYTES_MAX);
    recursive::set_stack_allocation_size(8 * STEP_BYTES_MAX);
    match levels <= SHALLOW {
        true => work(),
        // A thread that has a large stack, or has been given one by a caller, goes on there.
        false => stacker::maybe_grow(STACK_LEFT_MIN, STACK_BYTES, work),
    }
}

/// A tree that knows how deep it is: clones and drops itself on a stack that suffices.
#[derive(Debug)]
pub struct Deep<T> {
    /// There until it is dropped.
    tree: Option<Box<T>>,
    depths: Depths,
}

impl<T> Deep<T> {
    pub(crate) fn new(tree: T, depths: Depths) -> Deep<T> {
        Deep { tree: Some(Box::new(tree)), depths }
    }

    /// How deep it is.
    pub fn depths(&self) -> Depths {
        self.depths
    }

    /// Whether it can be walked, cloned and dropped on any stack.
    pub fn is_shallow(&self) -> bool {
        self.depths.levels <= SHALLOW
    }

    /// Runs `work` on it where the stack suffices.
    pub fn with<R>(&self, work: impl FnOnce(&T) -> R) -> R {
        on_stack(self.depths.levels, || work(self))
    }

    /// The tree, for whom it is not too deep.
    pub fn into_inner(mut self) -> Box<T> {
        self.tree.take().expect("it is there until it is dropped")
    }

    /// The same with another kind of node at its root.
    pub fn map<R>(self, other: impl FnOnce(T) -> R) -> Deep<R> {
        let depths = self.depths;
        Deep::new(other(*self.into_inner()), depths)
    }
}

impl<T> Deref for Deep<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.tree.as_ref().expect("it is there until it is dropped")
    }
}

impl<T> DerefMut for Deep<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.tree.as_mut().expect("it is there until it is dropped")
    }
}

impl<T: Clone> Clone for Deep<T> {
    fn clone(&self) -> Deep<T> {
        Deep { tree: on_stack(self.depths.levels, || self.tree.clone()), depths: self.depths }
    }
}

impl<T> Drop for Deep<T> {
    fn drop(&mut self) {
        if let Some(tree) = self.tree.take() {
            on_stack(self.depths.levels, move || drop(tree));
        }
    }
}
