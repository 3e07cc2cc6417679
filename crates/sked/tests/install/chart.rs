//! The chart.
