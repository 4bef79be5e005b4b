// The one translation unit that compiles Boost.Asio (see Dependencies.cmake).
#include <boost/asio/impl/src.hpp>
