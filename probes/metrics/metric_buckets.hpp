// The buckets of our histograms, in seconds.
//
// Pure values, no thread rule. Source: docs/metrics.md.
#pragma once

#include <prometheus/histogram.h>

namespace lastcall::probes {

inline prometheus::Histogram::BucketBoundaries const kFast{
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
inline prometheus::Histogram::BucketBoundaries const kToFirstByte{
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600};
inline prometheus::Histogram::BucketBoundaries const kSlow{0.1, 0.5, 1,  2.5, 5,   10,
                                                           15,  30,  60, 120, 300, 600};

}  // namespace lastcall::probes
