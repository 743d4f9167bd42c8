// The one main() of every unit test program.
#define BOOST_TEST_DYN_LINK
#define BOOST_TEST_MODULE loligo
#include <boost/test/unit_test.hpp>
