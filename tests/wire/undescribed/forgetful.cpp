// Not to be compiled: the description has one member of two.
#include <boost/describe/class.hpp>

#include "base/described.hpp"

namespace berth {

struct Forgetful {
    bool told = false;
    bool untold = false;
};
BOOST_DESCRIBE_STRUCT(Forgetful, (), (told))

static_assert(every_member_described<Forgetful>);

}  // namespace berth
