// Work that is done once per turn of the supervisor's loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/once_per_turn.hpp"

namespace lastcall::runtime {

using OncePerTurn = lastcall::OncePerTurn<boost::asio::io_context>;

}  // namespace lastcall::runtime
