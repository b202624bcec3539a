//! States of aggregates: values that live as long as the group of rows that they are of.

use super::call::Call;
use crate::error::{Error, Result};
use pgrx::{Internal, PgMemoryContexts, pg_sys};

/// Changes the state of an aggregate, which `first` makes for the first row; returns it to the server.
///
/// # Errors
/// If the function was not called by an aggregate.
pub fn change<T>(
    call: &Call<'_>,
    mut state: Internal,
    first: impl FnOnce() -> T,
    change: impl FnOnce(&mut T) -> Result<()>,
) -> Result<Internal> {
    let mut context = std::ptr::null_mut();
    // SAFETY: the information is that of this call.
    if unsafe { pg_sys::AggCheckCallContext(call.info(), &mut context) } == 0 {
        return Err(Error::Misplaced {
            message: "a transition function was called outside of an aggregate".into(),
            hint: "Call the aggregate.".into(),
        });
    }
    // SAFETY: functions whose arguments are of type internal are called by the server alone, which
    // passes the state that this function has returned.  It is dropped with its memory context.
    unsafe {
        if !state.initialized() {
            PgMemoryContexts::For(context).switch_to(|_| {
                state.insert(first());
            });
        }
        if let Some(state) = state.get_mut::<T>() {
            change(state)?;
        }
    }
    Ok(state)
}

/// The state that a final function is called with; `None` if the group had no row that changed it.
pub fn read<T>(state: &Internal) -> Option<&T> {
    // SAFETY: as in `change`.
    unsafe { state.get::<T>() }
}
