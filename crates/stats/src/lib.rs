//! Latency histograms, moments and summaries.
