// The upper bounds of the router's histograms, in seconds.
#pragma once

#include <prometheus/histogram.h>

namespace lastcall::router {

inline prometheus::Histogram::BucketBoundaries const kDurations{
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800};
/// For what streams wait between two events.
inline prometheus::Histogram::BucketBoundaries const kGaps{
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};

}  // namespace lastcall::router
