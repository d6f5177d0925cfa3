//! A progress bar on standard error, when that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar that may not be there.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar for `total` rows, or a count without an end.
    pub(crate) fn rows(total: Option<u64>) -> Self {
        let bar = match total {
            Some(total) => {
                ProgressBar::new(total).with_style(style("{wide_bar} {human_pos}/{human_len} rows, {eta}"))
            }
            None => ProgressBar::no_length().with_style(style("{spinner} {human_pos} rows, {elapsed}")),
        };
        Self::start(bar)
    }

    /// A bar that is told a share from 0 to 1.
    pub(crate) fn share() -> Self {
        Self::start(ProgressBar::new(1000).with_style(style("{wide_bar} {percent} %, {eta}")))
    }

    fn start(bar: ProgressBar) -> Self {
        // Nothing is drawn unless standard error is a terminal.
        bar.set_draw_target(ProgressDrawTarget::stderr());
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar }
    }

    pub(crate) fn add(&self, rows: u64) {
        self.bar.inc(rows);
    }

    pub(crate) fn at(&self, rows: u64) {
        self.bar.set_position(rows);
    }

    pub(crate) fn at_share(&self, share: f64) {
        self.bar.set_position((share.clamp(0.0, 1.0) * 1000.0) as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
