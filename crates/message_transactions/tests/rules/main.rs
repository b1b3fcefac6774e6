//! The rules of message transactions, one test for each, named after it: what the thesis' kernel keeps, this one keeps.
//!
//! Numbers are those of the list of rules that the tests were written from; 29, on how measurements are told, is kept by the examples. Each
//! rule is kept whatever carries the packets: in memory, where a test sees nothing else, and by every way of [`ways::Way`]. `processes` has
//! what is about processes of the operating system.

/// Runs each of these tests by every way.
macro_rules! over_each_way {
    ($($rule:ident),+ $(,)?) => {
        over_each_way!(in memory, None, $($rule),+);
        over_each_way!(in shared_memory, Some($crate::ways::Way::SharedMemory), $($rule),+);
        over_each_way!(in udp, Some($crate::ways::Way::Udp), $($rule),+);
        over_each_way!(in tcp, Some($crate::ways::Way::Tcp), $($rule),+);
        over_each_way!(in tls, Some($crate::ways::Way::Tls), $($rule),+);
    };
    (in $module:ident, $way:expr, $($rule:ident),+) => {
        mod $module {
            $(
                #[test]
                fn $rule() {
                    $crate::net::by($way, super::$rule);
                }
            )+
        }
    };
}

mod bulk;
mod fuzz;
mod groups;
#[path = "../../examples/common/meeting.rs"]
mod meeting;
mod net;
mod transactions;
#[path = "../../examples/common/ways.rs"]
mod ways;
